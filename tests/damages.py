"""The tables of damages, sorted by what a repair owes."""

from __future__ import annotations

from tests import mutations, rewrites

ADDS_NOISE: tuple[mutations.Damage, ...] = (
    mutations.glue,
    mutations.stub_before,
    mutations.raw_newline,
    mutations.raw_tab,
    mutations.nul_run,
    mutations.bom,
    mutations.crlf,
    mutations.some_crlf,
    mutations.blank_line,
    mutations.noise_line,
    mutations.scalar_line,
    mutations.no_final_newline,
    mutations.merge_markers,
    mutations.pretty,
    mutations.pretty_one,
    mutations.array,
    mutations.array_lines,
    mutations.one_line,
    mutations.utf16,
    mutations.trailing_comma,
    mutations.doubled,
)
"""A repair gives every record back with the value that it had."""

OTHER: tuple[mutations.Damage, ...] = (
    mutations.cut_tail,
    mutations.cut_line,
    mutations.cut_head,
    mutations.drop_line,
    mutations.duplicate_line,
    mutations.swap_lines,
    mutations.noise_before,
    mutations.nul_tail,
    mutations.invalid_utf8,
    mutations.cut_utf8,
    mutations.lone_surrogate,
    mutations.bad_escape,
    mutations.nan,
    mutations.flip_bytes,
    mutations.splice,
    mutations.drop_range,
    rewrites.drop_result,
    rewrites.duplicate_result,
    rewrites.move_result,
    rewrites.drop_link,
    rewrites.other_link,
    rewrites.empty_text,
    rewrites.empty_block,
    rewrites.no_content,
    rewrites.bad_arguments,
    rewrites.bad_signature,
    rewrites.drop_header,
    rewrites.drop_ordinal,
    rewrites.wrong_type,
    rewrites.drop_member,
    rewrites.deep,
)
DAMAGES = ADDS_NOISE + OTHER
