"""The problem bank: programming problems of difficulty 1 to 10, by topic."""
