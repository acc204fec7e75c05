"""When a group has told enough, and what that will cost."""
