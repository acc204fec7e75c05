"""How words sound: the dictionary, and rules and models for the words it lacks."""
