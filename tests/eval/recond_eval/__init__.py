"""Measures of depth maps, paths and clouds against the truth. Lengths are in metres, angles in degrees."""


class Failure(Exception):
    """A sentence for the user and the exit status that goes with it (1: here, 2: usage, 3, 4: the server)."""

    def __init__(self, text, status=1):
        super().__init__(text)
        self.status = status


def open3d():
    """The module, which is loaded only where it is needed: it takes more than a second."""
    try:
        import open3d as module
    except ImportError:
        raise Failure('this needs Open3D: apt-get install python3-open3d') from None
    module.utility.set_verbosity_level(module.utility.VerbosityLevel.Error)
    return module
