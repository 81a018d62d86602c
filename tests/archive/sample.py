"""An archive that looks like a real one: charts, pictures, clips, sound, tables, and what attackers send."""
import io
import math
import struct
import wave
from pathlib import Path

from fill import BASE, add_artifact, add_run, add_withheld, open_db

DATA = Path(__file__).resolve().parent / "data"
DAY = 86_400_000
SVG = (b'<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10">'
       b'<script>document.title="PWNED"</script><rect width="10" height="10"/></svg>')
HTML = b"<!doctype html><title>PWNED</title><script>document.title='PWNED'</script>"
HOSTILE = [
    "<img src=x onerror=document.title='PWNED'>.txt",
    "\"><script>document.title='PWNED'</script>.txt",
    "&lt;b&gt;.txt",
    "..%2f..%2fetc%2fpasswd",
    "a b+c?d=e&f#g.txt",
    "\u202egpj.exe",
    "zero\u200bwidth.txt",
    "日本語 – naïve.csv",
    "deep/er/name.txt",
    "x" * 180 + ".txt",
    "'; DROP TABLE artifacts; --.txt",
    "javascript:alert(1).txt",
    "%00%0d%0aSet-Cookie: a=b.txt",
]


def chart(kind, seed=1, size=(6.4, 4.8), fmt="png"):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np
    rng = np.random.default_rng(seed)
    fig, ax = plt.subplots(figsize=size, dpi=100)
    if kind == "bar":
        ax.bar(["Jan", "Feb", "Mar", "Apr", "May", "Jun"], rng.integers(20, 90, 6), color="#3b7a9e")
        ax.set_title("Leads by month")
    elif kind == "line":
        for name in ("north", "south", "west"):
            ax.plot(np.cumsum(rng.normal(0.6, 2, 60)), label=name)
        ax.legend()
        ax.set_title("Pipeline, last 60 days")
    else:
        ax.imshow(rng.random((12, 18)).cumsum(axis=1), cmap="viridis", aspect="auto")
        ax.set_title("Replies by hour")
    out = io.BytesIO()
    fig.savefig(out, format=fmt)
    plt.close(fig)
    return out.getvalue()


def picture(fmt, size=(480, 320), tint=(200, 120, 60)):
    import numpy as np
    from PIL import Image
    y, x = np.mgrid[0:size[1], 0:size[0]]
    f = (np.sin(x / 37) + np.cos(y / 29) + 2) / 4
    rgb = np.stack([f * c for c in tint], axis=-1).astype("uint8")
    out = io.BytesIO()
    Image.fromarray(rgb).save(out, format=fmt)
    return out.getvalue()


def tone():
    out = io.BytesIO()
    with wave.open(out, "wb") as w:
        w.setnchannels(1)
        w.setsampwidth(2)
        w.setframerate(8000)
        w.writeframes(b"".join(struct.pack("<h", int(9000 * math.sin(i / 4))) for i in range(4000)))
    return out.getvalue()


def fill_gallery(home, hostile=True):
    """Runs of the builder, of acme and of zeta. Returns nothing: tests rely on the names below."""
    db = open_db(home)

    def put(run, name, data, kind="application/octet-stream", inline=False, **kw):
        made, = db.execute("SELECT ended FROM runs WHERE id = ?", (run,)).fetchone()
        add_artifact(db, home, run, name, data, kind, inline=inline, created=made, **kw)
    add_run(db, "rchart1", expert="crm-helper", version=3, tool="chart-leads", buyer="acme",
            started=BASE + 9 * DAY + 51_000_000, ms=1840)
    put("rchart1", "leads.png", chart("bar"), "image/png", True)
    put("rchart1", "pipeline.png", chart("line", 4), "image/png", True)
    put("rchart1", "leads.csv", b"month,leads\nJan,42\nFeb,57\n", "text/plain")
    add_run(db, "rclip1", expert="studio", version=1, tool="render-teaser", buyer="acme",
            started=BASE + 9 * DAY + 38_000_000, ms=21_300)
    put("rclip1", "teaser.mp4", (DATA / "clip.mp4").read_bytes(), "video/mp4", True)
    put("rclip1", "teaser.webm", (DATA / "clip.webm").read_bytes(), "video/webm", True)
    put("rclip1", "jingle.wav", tone(), "audio/wav", True)
    put("rclip1", "voice.mp3", (DATA / "tone.mp3").read_bytes(), "audio/mpeg", True)
    put("rclip1", "poster.jpg", picture("JPEG", (640, 960), (90, 150, 210)), "image/jpeg", True)
    add_run(db, "rheat1", expert="crm-helper", version=0, tool="reply-heatmap",
            started=BASE + 8 * DAY + 30_000_000, ms=960)
    put("rheat1", "heat.png", chart("heat", 2, (9, 4)), "image/png", True)
    put("rheat1", "notes/read me.txt", b"Numbers are UTC.\n", "text/plain")
    add_run(db, "rpart1", expert="crm-helper", version=3, tool="export-all", buyer="zeta",
            status="limit", started=BASE + 8 * DAY + 20_000_000, ms=25_000)
    put("rpart1", "part-1.zip", b"PK\x05\x06" + b"\0" * 18, "application/zip")
    put("rpart1", "zeta-only.webp", picture("WEBP"), "image/webp", True)
    add_withheld(db, "rpart1", 1, "part-2.zip", "larger than 5 MB")
    add_run(db, "rfail1", expert="crm-helper", version=3, tool="chart-leads", buyer="acme",
            status="failed", started=BASE + 7 * DAY, ms=310)
    put("rfail1", "half-made.png", picture("PNG"), "image/png", True, owner_only=True)
    if hostile:
        add_run(db, "revil1", expert="shady", version=1, tool="make-files", buyer="acme",
                started=BASE + 6 * DAY, ms=99)
        for name in HOSTILE:
            put("revil1", name, b"harmless " + name.encode(), "text/plain")
        put("revil1", "page.png", HTML, "text/html")
        put("revil1", "drawing.svg", SVG, "image/svg+xml")
        # Records that lie: the state says that they may be shown.
        put("revil1", "lie.png", HTML, "image/png", True)
        put("revil1", "lie.svg", SVG, "image/svg+xml", True)
        put("revil1", "liar.gif", picture("PNG"), "image/gif", True)
        put("revil1", "page.html", HTML, "text/html", True)
    db.close()
