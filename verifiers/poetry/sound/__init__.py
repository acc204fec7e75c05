"""How words sound: the dictionary, and what is done for words it lacks."""
