"""Every row of what the user sees has tests named after it."""

import ast

import pytest

from tests.conftest import ROOT

ROWS = {
    "ghost text while typing; also on manual trigger": [
        "test_lsp_inline_completion::test_ghost_text_while_typing_and_on_manual_trigger",
        "test_lsp_behaviour::test_automatic_and_manual_are_separately_switchable",
        "test_lsp_real_model::test_first_ghost_text_typing_along_and_what_follows",
    ],
    "single-line or multi-line": [
        "test_lsp_behaviour::test_single_line_or_multi_line_is_chosen_by_syntax",
        "test_lsp_inline_completion::test_single_line_and_max_lines_are_options_of_the_connection",
    ],
    "debounce": [
        "test_lsp_behaviour::test_debounce_an_automatic_request_waits_for_a_pause_and_begins_nothing_for_the_key_before",
        "test_lsp_behaviour::test_debounce_a_manual_trigger_never_waits",
        "test_lsp_debounce::test_it_stays_between_15_and_300_ms",
    ],
    "a newer request cancels the older one in the server": [
        "test_lsp_inline_completion::test_a_newer_request_cancels_the_older_one_within_one_round",
    ],
    "typing what is shown": ["test_lsp_inline_completion::test_typing_what_is_shown_needs_no_model_call"],
    "backspacing over it, or typing something else": [
        "test_lsp_inline_completion::test_backspacing_makes_the_old_text_the_draft",
        "test_lsp_inline_completion::test_typing_something_else_starts_anew_with_the_old_text_as_draft",
    ],
    "after accepting": ["test_lsp_inline_completion::test_after_accepting_the_next_completion_is_already_prepared"],
    "duplicates, doubled brackets/quotes, wrong indentation, tabs vs spaces, FIM tokens": [
        "test_lsp_behaviour::test_duplicates_wrong_indentation_and_fim_tokens_are_never_shown",
    ],
    "text after the cursor on the line": [
        "test_lsp_behaviour::test_text_after_the_cursor_on_the_line_stays_and_the_range_covers_what_is_replaced",
    ],
    "CRLF, UTF-16, emoji, combining characters, mixed line ends, no final newline": [
        "test_lsp_documents::test_crlf_comes_in_as_newlines_and_goes_out_as_crlf",
        "test_lsp_documents::test_emoji_half_characters_and_positions_outside_the_text",
        "test_lsp_behaviour::test_combining_characters_mixed_line_ends_and_no_final_newline",
    ],
    "the editor's buffer, not the file on disk": [
        "test_lsp_documents::test_the_editor_s_buffer_not_the_file_on_disk",
        "test_lsp_documents::test_unsaved_buffers",
    ],
    "secret files and ignore globs": [
        "test_lsp_inline_completion::test_secret_files_are_never_completed",
        "test_lsp_behaviour::test_secret_files_are_never_context_and_never_counted",
        "test_lsp_behaviour::test_ignore_globs_are_never_completed_and_never_context",
    ],
    "per-language and per-project switches; snooze": [
        "test_lsp_behaviour::test_per_language_switch",
        "test_lsp_behaviour::test_per_project_switch",
        "test_lsp_inline_completion::test_snooze_and_wake_up",
    ],
    "words, lines, all": [
        "test_neovim::test_words_are_accepted_one_by_one",
        "test_neovim::test_lines_are_accepted_one_by_one",
        "test_vscode::test_a_word_and_a_line_can_be_accepted_and_are_reported",
        "test_lsp_feedback::test_accepting_the_rest_after_a_part_of_it",
    ],
    "IntelliSense / completion popup open": [
        "test_lsp_inline_completion::test_the_popup_s_selected_item_is_extended_or_left_alone",
        "test_neovim::test_it_goes_on_with_what_is_chosen_in_the_popup_and_is_accepted_with_it",
        "test_vscode::test_with_a_popup_open_a_suggestion_goes_on_from_the_item_chosen_there",
    ],
    "several windows, several editors": [
        "test_daemon_connection::test_the_first_window_starts_the_daemon_and_a_second_one_shares_its_model",
        "test_daemon_connection::test_a_second_window_costs_little_memory",
    ],
    "idle": [
        "test_daemon_connection::test_an_idle_model_leaves_the_memory_and_the_next_request_brings_it_back",
    ],
    "no network at run time": [
        "test_lsp_behaviour::test_no_network_at_run_time",
        "test_lsp_real_model::test_it_needs_no_network",
    ],
    "status": [
        "test_lsp_behaviour::test_status_says_how_far_a_pull_has_come_and_then_loads_the_model",
        "test_lsp_behaviour::test_status_thinking_ready_and_numbers",
        "test_lsp_inline_completion::test_an_error_names_the_fix_and_is_not_final",
    ],
    "remote SSH, WSL, containers": [
        "test_lsp_behaviour::test_remote_ssh_wsl_and_containers_are_served_where_the_files_are",
    ],
    "config hot reload": ["test_lsp_inline_completion::test_config_hot_reload"],
    "first completion in a file just opened": [
        "test_lsp_behaviour::test_first_completion_in_a_file_just_opened_is_brief_and_the_rest_is_read_while_idle",
        "test_lsp_behaviour::test_first_completion_has_less_time_to_read_after_a_wait",
    ],
    "memory and disk": [
        "test_models_defaults::test_on_torch_models_follow_the_memory",
        "test_models_defaults::test_a_choice_stays_within_its_share_exactly",
        "test_models_pull::test_too_little_disk_is_said_before_anything_is_fetched",
    ],
    "draft model": [
        "test_reading::test_draft_model_loaded_only_when_chosen_and_unloaded_after_10_unused_minutes",
    ],
    "threads, battery": [
        "test_threads::test_one_core_is_left_free_where_there_are_more_than_two",
        "test_daemon_command::test_its_threads_have_lowered_priority",
        "test_lsp_behaviour::test_an_idle_server_does_not_spin",
        "test_lsp_behaviour::test_on_battery_no_idle_work_and_same_manual_or_off",
    ],
    "logs": [
        "test_cli::test_logs_follows_what_is_written_and_a_rotation",
        "test_lsp_privacy::test_no_text_reaches_logs_or_disk_at_any_log_level",
        "test_doctor::test_the_report_names_nothing_that_is_kept_private",
    ],
    "uninstall": ["test_cli_uninstall::test_everything_is_listed_with_its_size_and_removed"],
    "another inline provider active": ["test_neovim::test_checkhealth_finds_everything_well_and_names_a_rival"],
    "streaming: an answer at the first useful boundary, then chunks": [
        "test_lsp_inline_completion::test_chunks_stream_and_the_answer_comes_with_the_first_whole_line",
        "test_lsp_inline_completion::test_at_the_deadline_an_editor_that_understands_chunks_gets_what_there_is",
        "test_lsp_inline_completion::test_a_client_that_knows_nothing_of_chunks_gets_the_final_list",
    ],
    "textDocument/completion for clients without inline completion": [
        "test_lsp_old_clients::test_textdocument_completion_for_clients_without_inline_completion",
        "test_lsp_old_clients::test_off_by_default_where_inline_completion_is_supported",
    ],
    "shown after 750 ms, typed-through text as accepted characters": [
        "test_lsp_feedback::test_a_suggestion_counts_as_shown_after_750_ms",
        "test_lsp_feedback::test_typed_through_text_counts_as_accepted_characters",
        "test_lsp_inline_completion::test_shown_accepted_partial_and_rejected_are_counted_and_no_text_is_logged",
    ],
}


@pytest.mark.parametrize("row", ROWS)
def test_every_row_has_its_tests(row: str) -> None:
    for test in ROWS[row]:
        module, _, name = test.partition("::")
        tree = ast.parse((ROOT / "tests" / f"{module}.py").read_text("utf-8"))
        functions = (node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
        assert name in {function.name for function in functions}, test
