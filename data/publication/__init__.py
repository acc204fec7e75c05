"""A curated set where others read it: what may go up, where it came from, and where it goes."""
