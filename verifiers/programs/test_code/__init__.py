"""Tests of a program, and when an answer passes one."""
