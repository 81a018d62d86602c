# ---- JSON, by the C half of the json module: the rest of it costs more than a whole start


def decode(text):
    import _json

    class Context:
        strict = True
        object_hook = object_pairs_hook = None
        parse_float = float
        parse_int = int
        memo = {}

        @staticmethod
        def parse_constant(name):
            raise ValueError(name)

    return _json.make_scanner(Context)(text, skip_space(text))[0]


def skip_space(text):
    at = 0
    while at < len(text) and text[at] in ' \t\r\n':
        at += 1
    return at


def plain(value):
    """What JSON has no word for: numpy's scalars are the numbers that they hold."""
    if type(value).__module__ == 'numpy' and hasattr(value, 'item') and not getattr(value, 'shape', ()):
        item = value.item()
        if type(item) in (bool, int, float, str):
            return item
    raise TypeError('the result holds a %s, which is not JSON' % type(value).__name__)


def encode(value):
    import _json
    encoder = _json.make_encoder({}, plain, _json.encode_basestring, None, ': ', ', ', False, False, False)
    return ''.join(encoder([value], 0))[1:-1].encode()
