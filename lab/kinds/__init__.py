"""What can be recorded: a file for each family of causes."""
