"""From a frame to the image of nothing but its players: who finds them, how they are cut out, where that is kept."""
