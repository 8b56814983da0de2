#!/bin/sh
# Gradescope runs this once, as root, as it makes the machine. There is nothing to install: pausenet is one file without libraries.
chmod +x /autograder/source/pausenet
