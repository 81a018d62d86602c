# ---- where it begins


def leave(code=None):
    raise SystemExit(code)


config = read_config()
in_session = config['session'] == ['1']
memory_now = 1 << 62
sys.path[:] = config['path']
builtins.exit = builtins.quit = leave  # site, which makes these, is not loaded
if 'wildcard' in config:
    resolve_wildcards(config['wildcard'])
sys.meta_path.insert(0, Amend)
kernel = Kernel()
landlock = landlock_rules(config)
if in_session:
    if PLAIN not in sys.argv:
        preload(config.get('preload', ()))
    serve()
else:
    posix.write(INIT, b'S')
    posix.close(INIT)
    take_call(1)
