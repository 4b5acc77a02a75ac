"""What whoever runs Warpdeck sees of it: counts and times of a process, how they are told, and its log."""
