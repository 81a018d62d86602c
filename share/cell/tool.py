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


def named(kind, names):
    """The class that an annotation written as a string means."""
    kind = getattr(kind, '__forward_arg__', kind)
    try:
        return eval(kind, names) if type(kind) is str else kind
    except Exception:
        return None


def given(value, kind, names):
    """VALUE as what its annotation wants where JSON has no such thing: a dataclass, a member of an Enum."""
    kind = named(kind, names)
    if hasattr(kind, '__metadata__'):
        return given(value, kind.__origin__, names)
    if type(value) is dict and hasattr(kind, '__dataclass_fields__'):
        fields, names = kind.__dataclass_fields__, sys.modules[kind.__module__].__dict__
        return kind(**{k: given(v, fields[k].type, names) if k in fields else v for k, v in value.items()})
    if type(value) is dict and hasattr(kind, '__total__'):  # a TypedDict
        kinds, names = kind.__annotations__, sys.modules[kind.__module__].__dict__
        return {k: given(v, kinds.get(k), names) for k, v in value.items()}
    if type(value) in (str, int, float) and hasattr(kind, '_value2member_map_'):
        return kind._value2member_map_.get(value, value)
    of, origin = getattr(kind, '__args__', ()), getattr(kind, '__origin__', None)
    if origin is type(kind):  # since 3.14 that of a union, which holds nothing
        origin = None
    if type(value) is list and isinstance(origin, type) and (len(of) == 1 or of[1:] == (...,)):
        return [given(v, of[0], names) for v in value]
    if type(value) is dict and isinstance(origin, type) and len(of) == 2:
        return {k: given(v, of[1], names) for k, v in value.items()}
    return value if isinstance(origin, type) else given_either(value, of, names)


def given_either(value, of, names):
    """As the first of a union's types that it is, or that can be made of it."""
    for kind in of:
        try:
            made = value if type(value) is kind else given(value, kind, names)
        except TypeError:
            continue  # another of its dataclasses
        if made is not value or type(value) is kind:
            return made
    return value


def as_annotated(function, inputs):
    while hasattr(function, '__wrapped__'):
        function = function.__wrapped__
    try:
        kinds, names = function.__annotations__, function.__globals__
    except (AttributeError, NameError):
        return inputs
    return {name: given(value, kinds.get(name), names) for name, value in inputs.items()}


def run_function(file, function, inputs):
    posix.dup2(LOG, OUT)
    sys.stdout.reconfigure(line_buffering=True)
    function = getattr(load_module(file), function)
    value = function(**as_annotated(function, inputs))
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
