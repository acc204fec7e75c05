"""Statistics of groups: means, deviations, and where rewards vary."""
