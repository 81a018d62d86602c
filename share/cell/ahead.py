# ---- what a session imports ahead of its calls

PLAIN = 'plain'  # an argument: import nothing


class ToolsOwn:
    """A package to be imported wants a module by the name of one of the tool's, which is what it gets when
    nothing is imported ahead: so begin again, without."""

    def __init__(self):
        # Wherever they are: the tool may put any of its directories where modules are looked for.
        self.names, directories = set(), ['/tool']
        for directory in directories:
            for name in posix.listdir(directory):
                if posix.stat(directory + '/' + name).st_mode & 0o170000 == 0o040000:
                    directories.append(directory + '/' + name)
                elif name == '__init__.py':
                    self.names.add(directory.rpartition('/')[2])
                elif name.endswith(('.py', '.so')):
                    self.names.add(name.partition('.')[0])

    def find_spec(self, name, path=None, target=None):
        if name in self.names:
            words = read_file('/proc/self/cmdline').split(b'\0')[:-1]
            posix.execv('/proc/self/exe', words + [PLAIN.encode()])


def preload(modules):
    own = ToolsOwn()
    sys.meta_path.insert(0, own)
    import_all(modules)
    sys.meta_path.remove(own)


def import_all(modules):
    for name in modules:
        try:
            __import__(name)
        except Exception as error:
            report(error)
    for module, dry in (('pandas', dry_frame), ('matplotlib', dry_plot)):
        if module in sys.modules:
            try:
                dry()
            except Exception as error:
                report(error)


def dry_frame():
    import pandas
    pandas.DataFrame({'a': [1, 2]}).a.sum()


def dry_plot():
    import io
    import matplotlib.pyplot as plot
    figure = plot.figure()
    plot.plot([1, 2])
    figure.savefig(io.BytesIO(), format='png')
    plot.close(figure)
