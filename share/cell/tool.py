# ---- the tool's own code


def tool_path(file):
    if '/' in file:
        sys.path.insert(1, '/tool/' + file.rpartition('/')[0])
    return '/tool/' + file


def run_script(file):
    path = tool_path(file)
    main = type(sys)('__main__')
    main.__dict__.update(__file__=path, __builtins__=builtins)
    sys.modules['__main__'] = main
    sys.argv[:] = [path]
    exec(compile(read_file(path), path, 'exec', dont_inherit=True), main.__dict__)


def load_module(file):
    name = file.rpartition('/')[2].removesuffix('.py')
    path = tool_path(file)
    external = sys.modules['_frozen_importlib_external']
    spec = external.spec_from_file_location(name, path)
    if spec is None:
        spec = external.spec_from_file_location(
            name, path, loader=external.SourceFileLoader(name, path))
    return sys.modules['_frozen_importlib']._load(spec)


def run_awaitable(value):
    import asyncio

    async def wait():
        return await value

    return asyncio.run(wait())


def run_function(file, function, inputs):
    posix.dup2(LOG, OUT)
    sys.stdout.reconfigure(line_buffering=True)
    value = getattr(load_module(file), function)(**inputs)
    return run_awaitable(value) if hasattr(type(value), '__await__') else value


def attempt(file, function, inputs):
    """Runs it; the kind of end, and a function's value."""
    try:
        if function:
            value = run_function(file, function, inputs)
        else:
            value = run_script(file)
        flush()
        return DONE, value
    except SystemExit as error:
        code = exit_code(error)
        flush()
        if function or code:
            sys.stderr.write('the tool exited with %r\n' % code)
            return FAILED, None
        return DONE, None
    except BaseException as error:
        kind = kind_of(error)
        report(error)
        return kind, None
