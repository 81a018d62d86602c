"""The demo's private code: pandas reads from the CRM, matplotlib draws."""
import io
import urllib.request

import matplotlib.pyplot as plt
import pandas as pd


def fetch(month):
    request = urllib.request.Request(
        f"https://api.crm.example/leads.csv?month={month}",
        headers={"Authorization": "Bearer " + EV_KEYS["CRM_KEY"]},
    )
    with urllib.request.urlopen(request) as answer:
        return pd.read_csv(io.BytesIO(answer.read()), parse_dates=["day"])


def chart_leads(month):
    leads = fetch(month)
    by_day = leads.groupby("day")["lead"].count()
    figure, axes = plt.subplots(figsize=(9, 4))
    axes.bar(by_day.index, by_day.values, color="#3b6ea5")
    axes.set_title(f"Leads in {month}")
    axes.spines[["top", "right"]].set_visible(False)
    figure.autofmt_xdate()
    figure.savefig("outputs/leads.png", dpi=120)
    best = by_day.idxmax()
    return {
        "month": month,
        "leads": int(by_day.sum()),
        "best_day": f"{best:%Y-%m-%d}",
        "sources": {k: int(v) for k, v in leads["source"].value_counts().sort_index().items()},
    }
