"""Poems against their form: lines, syllables, rhymes, refrains, and a gate against what only looks like a poem."""
