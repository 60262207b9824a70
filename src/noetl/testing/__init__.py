"""What our own tests share with those of plugin authors. Imported by tests only, never by another room."""
