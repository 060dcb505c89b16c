"""From pixels to metres: which part of the rink a frame shows, how sure that is, and when it cannot be told."""

from plucc.register.game import GameCamera, read_game_camera, write_game_camera
from plucc.register.registrar import Registrar
from plucc.register.registration import Registration

__all__ = ["GameCamera", "Registrar", "Registration", "read_game_camera", "write_game_camera"]
