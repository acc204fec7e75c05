"""What runs inside the sandbox: the server that forks, and the child that runs a candidate.

Standard library only: it is run by a bare interpreter, as the package `jail`, and imports nothing of Learnable.
"""
