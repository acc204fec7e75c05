"""The curricula that come with the library, a TOML file each."""
