"""Test code as data: stubs, asserts and literals, read and never run."""
