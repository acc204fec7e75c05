"""What a training run reports as it goes: its metrics, the alarms that rules raise on them, and a forecast."""
