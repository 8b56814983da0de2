"""What pyproject.toml cannot say of a wheel that has a program in it: its version, and which machines the program is for.

make wheel sets WHEEL_VERSION and WHEEL_TAG.
"""

import os

from setuptools import Distribution, setup

try:
    from setuptools.command.bdist_wheel import bdist_wheel  # setuptools 70.1
except ImportError:
    from wheel.bdist_wheel import bdist_wheel


class Wheel(bdist_wheel):
    """A wheel for any Python 3, and one kind of machine."""

    def get_tag(self):
        tag = os.environ.get("WHEEL_TAG")
        return ("py3", "none", tag or super().get_tag()[2])


class WithProgram(Distribution):
    """Not pure: what is in it is for one kind of machine."""

    def has_ext_modules(self):
        return os.path.isdir("pausenet/bin")


setup(
    version=os.environ.get("WHEEL_VERSION", "0.0.0.dev0"),
    cmdclass={"bdist_wheel": Wheel},
    distclass=WithProgram,
)
