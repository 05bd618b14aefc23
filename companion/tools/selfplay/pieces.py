"""Simulated games whose pieces stand on a board, and the hands that move them.

Hands follow the table's instructions, sometimes make mistakes, and correct them as the table asks.
"""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

from companion.core.grid import Square
from companion.core.kit import Layout, Seat
from companion.core.ports import WorldPiece
from companion.games.base import AnyGame
from companion.table.board_check import HandMove, Problem, hand_moves, top_faces
from companion.table.session import Phase
from companion.table.table_view import TableView
from companion.tools.selfplay import people
from companion.tools.selfplay.people import SimulatedGame, Stuck

# The numbers below were chosen by eye: hands put pieces down as carelessly as people do, and make a
# few mistakes in each game.

# Maximum offset of a piece that is put down, as a share of a square's width.
MAX_OFFSET_SHARE = 0.12
# The same for a piece beside others, where hands are more careful.
MAX_OFFSET_SHARE_BESIDE = 0.06
# Maximum rotation of a piece that is put down alone.
MAX_ANGLE_DEG = 40.0
# The same for a piece beside others.
MAX_ANGLE_BESIDE_DEG = 10.0
# Maximum offset of a piece that covers several squares.
MAX_BIG_OFFSET_MM = 2.0
# Maximum rotation of such a piece.
MAX_BIG_ANGLE_DEG = 5.0
# Probability that a piece is put on a wrong square. If it were larger, games would take longer. If
# it were smaller, some games would be without a mistake.
WRONG_SQUARE_CHANCE = 0.15
# Probability that a player takes an action, or a part of it, back first.
CHANGED_MIND_CHANCE = 0.2
# Number of random actions among which a player chooses the best, and of the actions of the other
# seat against which each is tried. With larger numbers, games would be slower.
SAMPLED_ACTIONS = 48
SAMPLED_REPLIES = 2


class SimulatedPieceGame(SimulatedGame):
    """A game whose pieces stand on the squares of a board. Both seats hand in sealed orders.

    It defines everything that `SimulatedGame` leaves open.
    """

    def finish_set_up(self) -> None:
        """Wait until the camera has seen the board."""
        self.run_frames(3)

    def compare_layouts(self, before: TableView, after: TableView) -> None:
        """Check that the layout that the table has accepted is the true one.

        When a turn has just been decided, its first stage has not been accepted yet. If hands have
        already made the play on the board, the layout after that stage is right as well. For
        example, a player moves a piece by hand, and the table reads the move as the order: the
        piece is on its new square, while the table still has it on the old one.
        """
        is_comparable = (
            before.board.target is not None
            and after.board.target is not None
            and after.match.outcome is None
        )
        if not is_comparable or after.phase is Phase.SETUP:
            return
        right_layouts = [after.board.layout]
        if before.phase is Phase.ORDERS and after.phase is Phase.STAGES and after.board.target:
            right_layouts.append(after.board.target)
        truth = self.true_tops()
        is_right = any(
            top_faces(self.kit.anchor_layout(layout)) == truth for layout in right_layouts
        )
        self.report.misread_layouts += not is_right

    def true_tops(self) -> dict[Square, str]:
        """Return the top face on each square of the rendered table."""
        return {piece.square: piece.face for piece in self.world.pieces() if piece.square}

    # ---- hands -----------------------------------------------------------------------------------

    def follow_stage(self) -> None:
        """Follow the instructions of one stage."""
        key_before = self.progress_key()
        self.correct_layout(self.view())
        view = self.view()
        for instruction in view.turn.instructions:
            move = instruction.move
            if move.is_done or self._is_done(move):
                continue
            self.carry_out(move, view.board.target or {})
            # The table has moved on, so that the other instructions are out of date.
            if self.progress_key() != key_before:
                break
        self.wait_for_progress("Hands are done", key_before)

    def _is_done(self, move: HandMove) -> bool:
        """Return whether a move is already done on the rendered table, even if not yet read.

        A piece that is only to be turned over counts as not done, because its square tells nothing
        about that.
        """
        if move.is_in_place:
            return False
        placements = [(piece.face, piece.square) for piece in self.world.pieces()]
        has_arrived = all((face, move.target) in placements for face in move.faces)
        has_left = not any((face, move.origin) in placements for face in move.faces)
        return has_arrived and has_left

    def carry_out(
        self, move: HandMove, layout: Layout, wrong_chance: float = WRONG_SQUARE_CHANCE
    ) -> None:
        """Make one move towards a layout.

        With the probability `wrong_chance` the piece first goes to a wrong square.
        """
        face = move.faces[-1]
        if self._is_big(face):
            self._lay_big(move, layout)
            return
        if move.is_in_place:
            self.turn_over(self.find_piece(face, move.origin, must_show_other_face=True))
            return
        pieces = [self.find_piece(face, move.origin) for face in move.faces]
        wrong_square = self._wrong_square(move) if self.rng.random() < wrong_chance else None
        if wrong_square is not None:
            *lower, top = pieces
            if not self._misplace(top, wrong_square, move):
                return
            # The top piece is where it belongs. Put it down again only if others belong below it.
            pieces = [*lower, self.find_piece(face, move.target)] if lower else []
        for piece in pieces:
            self.put(piece, move.target)
        on_target = layout.get(move.target, ()) if move.target else ()
        self._restack(on_target, move.target)
        self.run_frames(1)
        # a piece that has arrived may have to be turned over as well
        if move.is_turned_over:
            for shown_face in move.faces:
                piece = self.find_piece(shown_face, move.target)
                if piece.face != shown_face:
                    self.turn_over(piece)

    def _lay_big(self, move: HandMove, layout: Layout) -> None:
        """Put down a piece that covers several squares, across the files or along one."""
        face = move.faces[-1]
        files = {square.file for square, faces in layout.items() if face in faces}
        # It lies along a file if all of its squares are in that file.
        turn_deg = 90.0 if len(files) == 1 else 0.0
        self.put(self.find_piece(face, move.origin), move.target, turn_deg)
        self.run_frames(1)

    def _misplace(self, piece: WorldPiece, square: Square, move: HandMove) -> bool:
        """Put a piece on a wrong square, and correct it when the table reports it.

        Return False if the table does not report it.
        """
        self.report.wrong_placements_made += 1
        self.put(piece, square)
        problem = self.wait_for_problem(square)
        if problem is None:
            return False
        self.report.wrong_placements_noticed += 1
        # The table names as `home` the target, or the square of another piece with the same face
        # that is missing as well.
        self.put(piece, problem.home or move.target)
        return True

    def _restack(self, faces: tuple[str, ...], square: Square | None) -> None:
        """Put pieces on top again that belong above the one that has arrived, such as a ball."""
        pieces = self.world.pieces()
        stack = [piece.face for piece in pieces if piece.square == square]
        # If the right pieces lie there in the wrong order, lift the upper ones and put them back.
        if set(stack) == set(faces) and stack != list(faces):
            for face in faces[1:]:
                self.put(self.find_piece(face, square), square)

    def turn_over(self, piece: WorldPiece) -> None:
        """Turn a piece over on its square."""
        # Meanwhile, the hand hides the piece.
        self.world.hold_hand(piece.square)
        self.run_frames(1)
        self.world.flip(piece.id)
        self.world.hold_hand(None)
        self.run_frames(1)

    def _is_big(self, face: str) -> bool:
        return self.kit.face(face).size != (1, 1)

    def correct_layout(self, view: TableView) -> None:
        """Straighten pieces that may hide others. Correct the layout if that did not help.

        Also correct the layout if hands are ahead of what the table asks for.
        """
        if view.board.problems and view.board.unknown:
            self.straighten()
            self.run_frames(4)
            view = self.view()
        target = view.board.target
        if target is None or not (view.board.problems or self._are_hands_ahead(view)):
            return
        # The moves lead from the layout as it truly is, in which stacks are listed from the bottom.
        true_layout: dict[Square, tuple[str, ...]] = {}
        for piece in self.world.pieces():
            if piece.square is not None:
                true_layout[piece.square] = (*true_layout.get(piece.square, ()), piece.face)
        for move in hand_moves(self.kit, true_layout, target):
            self.carry_out(move, target, wrong_chance=0.0)

    def _are_hands_ahead(self, view: TableView) -> bool:
        """Return whether a piece that should be moved is on neither its origin nor its target.

        A piece that has been turned over on the way is the same piece.
        """
        kind = self.kit.kind
        placements = {(kind(piece.face), piece.square) for piece in self.world.pieces()}
        for instruction in view.turn.instructions:
            move = instruction.move
            if not move.origin or move.is_done:
                continue
            name = kind(move.faces[-1])
            if placements.isdisjoint({(name, move.origin), (name, move.target)}):
                return True
        return False

    def straighten(self) -> None:
        """Straighten and centre every piece, as the sign asks when one hides another."""
        for piece in self.world.pieces():
            if piece.square is not None:
                # to the nearest quarter turn
                self.world.turn(piece.id, 90.0 * round(piece.turn_deg / 90))
                self.world.move_to(piece.id, piece.square)

    def find_piece(
        self, face: str, square: Square | None, *, must_show_other_face: bool = False
    ) -> WorldPiece:
        """Return the top piece on a square that is of the kind of this face.

        The square None stands for the table beside the board. Prefer a piece that shows `face`, but
        leave these out with `must_show_other_face`. Raises `Stuck` if there is no such piece.
        """
        kind = self.kit.kind
        alike = []
        # Pieces are listed from the bottom, so the search begins at the end.
        for piece in reversed(self.world.pieces()):
            is_alike = piece.square == square and kind(piece.face) == kind(face)
            if is_alike and not (must_show_other_face and piece.face == face):
                alike.append(piece)
        if not alike:
            raise Stuck(f"There is no {face} on {square or 'the table beside the board'}")
        # the first one that shows the face, or else the first one
        return max(alike, key=lambda piece: piece.face == face)

    def _wrong_square(self, move: HandMove) -> Square | None:
        """Return a random empty square that no instruction uses, or None if there is none."""
        view = self.view()
        board = self.kit.board
        busy: set[Square | None] = {*self.true_tops(), *board.holes, *view.board.layout}
        busy |= {move.target, move.origin}
        for instruction in view.turn.instructions:
            busy |= {instruction.move.target, instruction.move.origin}
        free = [square for square in board.squares if square not in busy]
        return self.rng.choice(free) if free else None

    def put(self, piece: WorldPiece, square: Square | None, turn_deg: float = 0.0) -> None:
        """Carry a piece to a square, and put it down slightly askew.

        If `square` is None, take it off the board. `turn_deg` is the intended orientation. A piece
        that covers two squares lies across the files with 0, and along a file with 90.
        """
        if square is None:
            self.world.take_off(piece.id)
            return
        askew_mm, askew_deg = self._max_offsets(piece.face, square)
        uniform = self.rng.uniform
        # The camera sees the hand over the square, then the piece, too, and then the hand goes.
        self.world.hold_hand(square)
        self.run_frames(1)
        self.world.turn(piece.id, turn_deg + uniform(-askew_deg, askew_deg))
        self.world.move_to(piece.id, square)
        east_mm = uniform(-askew_mm, askew_mm)
        north_mm = uniform(-askew_mm, askew_mm)
        self.world.nudge(piece.id, east_mm, north_mm)
        self.run_frames(1)
        self.world.hold_hand(None)

    def _max_offsets(self, face: str, square: Square) -> tuple[float, float]:
        """Return the maximum offset (mm) and rotation (degrees) of a piece that is put down.

        Both are smaller beside other pieces, where there is less room.
        """
        if self._is_big(face):
            return MAX_BIG_OFFSET_MM, MAX_BIG_ANGLE_DEG
        near = {square.shifted(*step) for step in product((-1, 0, 1), repeat=2)} - {square}
        if near.isdisjoint(self.true_tops()):
            return self.kit.board.square_mm * MAX_OFFSET_SHARE, MAX_ANGLE_DEG
        return self.kit.board.square_mm * MAX_OFFSET_SHARE_BESIDE, MAX_ANGLE_BESIDE_DEG

    def wait_for_problem(self, square: Square) -> Problem | None:
        """Return the problem that the table reports on a wrong square, or None if it reports none.

        After half of the frames, straighten pieces if the camera cannot see all squares.
        """
        for frame in range(people.PATIENCE_FRAMES):
            self.run_frames()
            for problem in self.view().board.problems:
                if problem.square == square:
                    return problem
            if frame == people.PATIENCE_FRAMES // 2 and self.view().board.unknown:
                self.straighten()
        return None

    # ---- orders ----------------------------------------------------------------------------------

    def act(self, seat: Seat) -> Any:
        """Hand in an action. Sometimes the player changes their mind first."""
        rng = self.players[seat].rng
        action = _choose_action(self.game, self.state, seat, rng)
        self.hand_in(seat, self.game.format(action), is_unsure=rng.random() < CHANGED_MIND_CHANCE)
        return action


def _choose_action(game: AnyGame, state: Any, seat: Seat, rng: Random) -> Any:
    """Return the best of some random actions. If several are equally good, chance decides.

    The best action wins most often, and loses least often, against some random actions of the other
    seat in this turn. So games come to an end.
    """
    candidates = [game.random_action(state, seat, rng) for _ in range(SAMPLED_ACTIONS)]
    other_seats = [other for other in game.to_act(state) if other is not seat]
    replies = [
        {other: game.random_action(state, other, rng) for other in other_seats}
        for _ in range(SAMPLED_REPLIES)
    ]

    def gain(action: Any) -> float:
        # less than 1, so that it only decides between actions of equal gain
        total = rng.random()
        for reply in replies:
            step = game.apply(state, {seat: action, **reply}, Random(0))
            outcome = game.outcome(step.state)
            if outcome and outcome.winners:
                total += 10 if seat in outcome.winners else -10
        return total

    return max(candidates, key=gain)
