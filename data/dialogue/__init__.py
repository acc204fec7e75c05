"""What is said in which turn: chats, and thoughts before an answer."""
