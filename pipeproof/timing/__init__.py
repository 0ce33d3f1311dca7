"""What a schedule takes: time, and layers to stages. No verdict comes from here."""
