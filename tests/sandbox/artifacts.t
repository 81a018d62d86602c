#!/usr/bin/python3
"""What a hostile tool may leave in outputs/, and what becomes of it."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lib import main, same, status, test, true

HEAD = '''
import os, errno, stat, sys
def put(name, data=b'x'):
    with open('outputs/' + name, 'wb') as file:
        file.write(data)
def f():
    put('good.txt', b'kept')
'''


def outputs(box, body, want='ok', **kw):
    """Names kept, and withheld with why, after the lines of body; good.txt must always be kept."""
    code = HEAD + ''.join('    %s\n' % line for line in body.strip('\n').split('\n'))
    got = box.run(code, 'f', **kw)
    status(got, want)
    out = got['outputs']
    good = [f for f in out['files'] if f['name'] == 'good.txt']
    same([(f['size'], f['type'], f['head']) for f in good], [(4, 'text/plain', '6b657074')], 'control')
    files = {f['name']: f for f in out['files'] if f['name'] != 'good.txt'}
    return files, {w['name']: w['why'] for w in out['withheld']}, out


@test
def links(box):
    """1, 2: links to a host's file, to the tool's source, to each other, to nothing"""
    files, withheld, _ = outputs(box, '''
os.symlink('/etc/shadow', 'outputs/abs')
os.symlink('../../../../etc/shadow', 'outputs/rel')
os.symlink('/tool/tool.py', 'outputs/source')
os.symlink('b', 'outputs/a')
os.symlink('a', 'outputs/b')
os.symlink('good.txt', 'outputs/inner')
os.symlink('/scratch', 'outputs/dir')
os.symlink('/proc/self/fd/1', 'outputs/magic')
''')
    same(files, {})
    same(set(withheld.values()), {'link'})
    same(sorted(withheld), ['a', 'abs', 'b', 'dir', 'inner', 'magic', 'rel', 'source'])


@test
def replaced(box):
    """3: outputs/ itself cannot be replaced; if it could, it would not be followed"""
    files, withheld, _ = outputs(box, '''
for act in (lambda: os.rename('outputs', 'was'), lambda: os.rmdir('outputs')):
    try:
        act()
        put('replaced')
    except OSError as e:
        put(errno.errorcode[e.errno])
''')
    same(sorted(files), ['EBUSY'])
    same(withheld, {})


@test
def swapped(box):
    """4, 8, 9, 16: writers, swappers and growers are dead before anything is read"""
    files, withheld, _ = outputs(box, '''
import subprocess, sys, time
os.mkdir('outputs/d')
put('d/a', b'1')
put('grow', b'1')
code = """if 1:
    import os
    if os.fork(): os._exit(0)
    os.setsid()
    open('/scratch/outputs/running', 'w').close()
    while True:
        with open('/scratch/outputs/grow', 'a') as f: f.write('x' * 100)
        with open('/scratch/outputs/grow', 'w') as f: f.write('x')
        os.rename('/scratch/outputs/d', '/scratch/outputs/e')
        os.symlink('/etc', '/scratch/outputs/d')
        os.unlink('/scratch/outputs/d')
        os.rename('/scratch/outputs/e', '/scratch/outputs/d')
"""
subprocess.run([sys.executable, '-c', code])
while not os.path.exists('outputs/running'): time.sleep(.01)
''')
    for name in files:
        true(name in ('grow', 'running', 'd/a', 'e/a'), name)
    true(set(withheld) <= {'d'} and set(withheld.values()) <= {'link'}, withheld)
    true('grow' in files and files['grow']['size'] <= 101, files)


@test
def hard_links(box):
    """5: a hard link to a bound file is EXDEV, one to an own file is withheld"""
    files, withheld, _ = outputs(box, '''
for source in ('/tool/tool.py', '/etc/hosts', os.path.realpath(sys.executable), '/dev/null'):
    try:
        os.link(source, 'outputs/linked')
        put('linked-' + source.replace('/', '_'))
    except OSError as e:
        put(errno.errorcode[e.errno])
put('one')
os.link('outputs/one', 'outputs/two')
''')
    same(sorted(files), ['EXDEV'])
    same(withheld, {'one': 'has other names', 'two': 'has other names'})


@test
def special(box):
    """6, 7: pipes with and without a writer, sockets, device nodes: withheld, no hang"""
    files, withheld, _ = outputs(box, '''
os.mkfifo('outputs/pipe')
os.mkfifo('outputs/busy')
if os.fork() == 0:
    os.open('outputs/busy', os.O_RDWR)
    import time
    time.sleep(60)
for name, mode, dev in (('char', stat.S_IFCHR, (1, 3)), ('block', stat.S_IFBLK, (8, 0))):
    try:
        os.mknod('outputs/' + name, mode | 0o666, os.makedev(*dev))
        put('made')
    except PermissionError:
        put('refused')
try:
    os.mknod('outputs/sock', stat.S_IFSOCK | 0o666)
except OSError:
    pass
try:
    os.mknod('outputs/white', stat.S_IFCHR | 0o666, 0)
except OSError:
    pass
''')
    same(sorted(files), ['refused'])
    same((withheld.pop('pipe'), withheld.pop('busy')), ('pipe', 'pipe'))
    true(set(withheld.items()) <= {('sock', 'socket'), ('white', 'device')}, withheld)


@test
def sparse(box):
    """10: a tebibyte is EFBIG, a sparse file withheld; a hole of less than a page is fine"""
    files, withheld, _ = outputs(box, '''
def big(act):
    with open('outputs/big', 'wb') as file:
        try:
            act(file.fileno())
            return 'done'
        except OSError as e:
            return errno.errorcode[e.errno]
put(big(lambda fd: os.truncate(fd, 1 << 40)))
put(big(lambda fd: os.posix_fallocate(fd, 0, 1 << 40)))
os.unlink('outputs/big')
with open('outputs/sparse', 'wb') as file:
    file.truncate(3 << 20)
with open('outputs/hole', 'wb') as file:
    file.seek(2 << 20)
    file.write(b'x')
put('dense', b'x' * 9999)
''')
    same(sorted(files), ['EFBIG', 'dense'])
    same(withheld, {'sparse': 'sparse', 'hole': 'sparse'})


@test
def caps_at(box):
    """11: exactly 5,000,000 bytes, 10,000,000 together, 20 files are kept"""
    files, withheld, out = outputs(box, '''
put('big', b'x' * 5000000)
put('more', b'x' * (5000000 - 4 - 17))
for i in range(17): put('n%02d' % i)
''')
    same((len(files), withheld, out['over_cap']), (19, {}, False))


@test
def caps_over(box):
    """11: one byte or one file more: withheld, named, the rest kept, in byte order of name"""
    files, withheld, out = outputs(box, "put('big', b'x' * 5000001)")
    same((files, withheld, out['over_cap']), ({}, {'big': 'too large'}, True))
    files, withheld, out = outputs(box, '''
put('a', b'x' * 5000000)
put('b', b'x' * 4999996)
put('h', b'x' * 3)
''')
    # In byte order a, b, good.txt, h: good.txt makes it 10,000,000 exactly.
    same((sorted(files), withheld, out['over_cap']), (['a', 'b'], {'h': 'too much together'}, True))
    files, withheld, out = outputs(box, '''
for i in range(20): put('n%02d' % i)
''')
    same((len(files), withheld, out['over_cap']), (19, {'n19': 'too many files'}, True))


@test
def million(box):
    """12: a million empty files: bounded, and named up to a point"""
    files, withheld, out = outputs(box, '''
n = 0
try:
    for n in range(1000000): put('n%06d' % n, b'')
except OSError as e:
    assert e.errno == errno.ENOSPC, e
assert 100 < n < 100000, n
''')
    same((len(files), len(withheld), out['over_cap']), (19, 100, True))
    true(out['more'] > 100, out['more'])


@test
def deep(box):
    """13: directories 20,000 deep, or as deep as they go: withheld; and emptied again"""
    body = '''
os.chdir('outputs')
n = 0
try:
    for n in range(20000):
        os.mkdir('d')
        os.chdir('d')
    open('bottom', 'w').close()
except OSError as e:
    assert e.errno == errno.ENOSPC, e
os.chdir('/scratch')
assert n > 1000
'''
    files, withheld, out = outputs(box, body)
    same(files, {})
    same(list(withheld.values()), ['nested too deep'])
    same(out['over_cap'], False)
    files, withheld, _ = outputs(box, "os.makedirs('outputs/a/b/c')\nput('a/b/c/x.txt')")
    same((sorted(files), withheld), (['a/b/c/x.txt'], {}))


@test
def emptied(box):
    """13: a session's outputs are empty again after anything"""
    code = HEAD + '''
    for i in range(300): os.mkdir('outputs/m%d' % i)
    os.chdir('outputs')
    for n in range(1000):
        os.mkdir('d')
        os.chdir('d')
    os.mkdir('locked')
    open('locked/x', 'w').close()
    os.chmod('locked', 0)
    os.chmod('.', 0o500)
def g():
    return os.listdir('outputs')
'''
    report = box.report(code, session=True, calls=[
        {'file': 'tool.py', 'func': 'f'}, {'file': 'tool.py', 'func': 'g'}])
    status(report['calls'][0], 'ok')
    status(report['calls'][1], 'ok')
    same(report['calls'][1]['result'], '[]')


@test
def names(box):
    """14: names are UTF-8 without controls; others are withheld and shown escaped"""
    files, withheld, _ = outputs(box, r'''
for name in (b'-rf', b'a b', 'größe.txt'.encode(), '\U0001f468\u200d\U0001f373\ufe0f'.encode(), b'x' * 255, b'%41', b'"quote\\'):
    put(os.fsdecode(name))
for name in (b'new\nline', b'esc\x1b[31m', b'bad\xff', b'del\x7f', 'c1\u0085'.encode(),
             'rtl\u202egnp.exe'.encode(), 'line\u2028'.encode(), b'tab\t', 'no\u200broom'.encode(),
             'mark\ufeff'.encode(), 'tag\U000e0041'.encode(), 'none\U0001ffff'.encode()):
    put(os.fsdecode(name))
''')
    same(sorted(files), sorted(['-rf', 'a b', 'größe.txt', '\U0001f468\u200d\U0001f373\ufe0f', 'x' * 255, '%41', '"quote\\']))
    same({k: v for k, v in withheld.items()}, {
        'new\\x0aline': 'name has control characters', 'esc\\x1b[31m': 'name has control characters',
        'bad\\xff': 'name is not UTF-8', 'del\\x7f': 'name has control characters',
        'c1\\xc2\\x85': 'name has control characters', 'tab\\x09': 'name has control characters',
        'rtl\\xe2\\x80\\xaegnp.exe': 'name has control characters',
        'line\\xe2\\x80\\xa8': 'name has control characters',
        'no\\xe2\\x80\\x8broom': 'name has control characters',
        'mark\\xef\\xbb\\xbf': 'name has control characters',
        'tag\\xf3\\xa0\\x81\\x81': 'name has control characters',
        'none\\xf0\\x9f\\xbf\\xbf': 'name has control characters'})


@test
def modes(box):
    """15: mode 000 and set-uid are bytes like others, in directories of mode 000 too"""
    files, withheld, _ = outputs(box, '''
put('zero', b'1')
os.chmod('outputs/zero', 0)
put('setuid', b'2')
os.chmod('outputs/setuid', 0o6777)
os.mkdir('outputs/d')
put('d/x', b'3')
os.chmod('outputs/d', 0)
os.chmod('outputs', 0)
''')
    same({n: f['head'] for n, f in files.items()}, {'zero': '31', 'setuid': '32', 'd/x': '33'})
    same(withheld, {})


@test
def full(box):
    """17: no space left is a failure by its kind"""
    got = box.run("def f():\n with open('outputs/x', 'wb') as f:\n"
                  "  while True: f.write(b'x' * 1000000)", 'f')
    status(got, 'limit', 'disk')
    got = box.run("def f():\n with open('/scratch/x', 'wb') as f:\n"
                  "  while True: f.write(b'x' * 1000000)", 'f')
    status(got, 'limit', 'disk')


@test
def types(box):
    """types are told by content, and shown only where the bytes are that type to their end"""
    code = HEAD + '''
    import wave, struct
    from PIL import Image
    image = Image.new('RGB', (32, 32), 'red')
    for ext in ('png', 'jpeg', 'gif', 'webp', 'bmp', 'tiff'):
        image.save('outputs/%s.txt' % ext, ext)
    with wave.open('outputs/sound', 'wb') as w:
        w.setnchannels(1); w.setsampwidth(2); w.setframerate(8000); w.writeframes(bytes(800))
    png = open('outputs/png.txt', 'rb').read()
    put('tail.png', png + b'<script>alert(1)</script>')
    put('cut.png', png[:-1])
    put('fake.png', b'\\x89PNG\\r\\n\\x1a\\n<html>')
    put('x.svg', b'<?xml version="1.0"?><svg onload="x()"/>')
    put('y.png', b'<html><script>1</script>')
    put('j', b'{"a": [1]}')
    put('b.pdf', bytes(range(256)))
    put('p', b'%PDF-1.4')
    put('e', b'')
'''
    got = box.run(code, 'f', timeout=60000)
    status(got, 'ok')
    found = {f['name']: (f['type'], f['inline']) for f in got['outputs']['files']}
    same(found, {
        'png.txt': ('image/png', True), 'jpeg.txt': ('image/jpeg', True),
        'gif.txt': ('image/gif', True), 'webp.txt': ('image/webp', True),
        'sound': ('audio/wav', True), 'bmp.txt': ('application/octet-stream', False),
        'tiff.txt': ('image/tiff', False), 'tail.png': ('application/octet-stream', False),
        'cut.png': ('application/octet-stream', False), 'fake.png': ('application/octet-stream', False),
        'x.svg': ('image/svg+xml', False), 'y.png': ('text/html', False),
        'j': ('application/json', False), 'b.pdf': ('application/octet-stream', False),
        'p': ('application/pdf', False), 'e': ('application/octet-stream', False),
        'good.txt': ('text/plain', False)})


main()
