"""Those who compute attention, each behind the same few lines."""
