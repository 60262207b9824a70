"""Every rule, one file each; this list is the order in which they run.

Blocks: NL1xx document, 2xx step, 3xx task and policy, 4xx loop, 5xx routing, 6xx templates and scopes, 7xx results,
9xx deprecated spelling.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from types import ModuleType

from noetl.dsl.rules.contract import Check

MODULES = (
    # 1xx document
    "nl101_not_yaml",
    "nl102_not_utf8",
    "nl103_document_too_large",
    "nl104_duplicate_key",
    "nl105_yaml_tag",
    "nl106_key_not_text",
    "nl107_number_kept_as_text",
    "nl108_merge_not_mapping",
    "nl109_not_a_playbook",
    "nl111_wrong_api_version",
    "nl112_wrong_kind",
    "nl113_root_vars",
    "nl114_unknown_root_key",
    "nl115_unknown_document_key",
    "nl116_missing_key",
    "nl117_wrong_type",
    "nl118_value_not_allowed",
    "nl119_value_out_of_range",
    "nl120_unknown_spec_key",
    "nl121_empty_workflow",
    "nl122_credentials_under_executor",
    "nl123_duplicate_credential",
    "nl124_template_in_workload",
    "nl125_template_not_rendered",
    "nl126_knob_outside_spec",
    "nl127_other_condition_keyword",
    "nl128_unknown_entry_step",
    "nl129_unknown_output_step",
    "nl130_secret_in_document",
    "nl131_credential_document_shape",
    "nl132_schedule_document_shape",
    "nl133_trigger_document_shape",
    "nl134_unreadable_cron",
    "nl135_unknown_time_zone",
    "nl136_playbook_test_shape",
    "nl137_test_of_unknown_step",
    # 2xx step
    "nl201_step_without_name",
    "nl202_duplicate_step",
    "nl203_unknown_step_key",
    "nl204_step_when",
    "nl205_removed_step_block",
    "nl206_empty_step",
    "nl207_reserved_step_name",
    "nl208_next_mode_on_step",
    "nl209_directive_outside_task_policy",
    "nl210_admission_rule_shape",
    "nl211_admission_without_else",
    "nl212_set_under_spec",
    "nl213_engine_event_emitted",
    "nl214_event_at_foreign_boundary",
    "nl215_bad_pool_name",
    # 3xx task and policy
    "nl301_jump_to_unknown_task",
    "nl302_duplicate_task_label",
    "nl303_unknown_kind",
    "nl304_unknown_tool_field",
    "nl305_ill_typed_tool_field",
    "nl306_missing_tool_field",
    "nl307_tool_fields_exclude_each_other",
    "nl308_policy_shape",
    "nl309_unknown_policy_key",
    "nl310_rule_without_do",
    "nl311_unknown_directive",
    "nl312_misplaced_directive_field",
    "nl313_policy_without_else",
    "nl314_error_swallowed",
    "nl315_eval_block",
    "nl316_pipe_construct",
    "nl317_reserved_task_name",
    "nl318_task_shape",
    "nl319_unknown_workbook_task",
    "nl320_workbook_cycle",
    "nl321_unreachable_task",
    "nl322_endless_jump",
    "nl323_unknown_credential",
    "nl324_kind_needs_extra",
    "nl325_bad_task_name",
    "nl326_unused_on_unmatched",
    "nl327_hook_without_effect",
    "nl328_impossible_output_value",
    "nl329_certificate_not_checked",
    # 4xx loop
    "nl401_loop_shape",
    "nl402_bad_iterator_name",
    "nl403_loop_knobs_disagree",
    "nl404_loop_in_not_a_list",
    "nl405_ctx_write_in_parallel_loop",
    "nl406_unknown_reducer",
    "nl407_unused_reducer",
    "nl408_max_in_flight_without_parallel",
    "nl409_iterator_shadows_outer",
    "nl410_shared_write_without_reducer",
    # 5xx routing
    "nl501_unknown_step",
    "nl502_next_list",
    "nl503_next_shape",
    "nl504_unreachable_step",
    "nl505_arc_never_fires",
    "nl506_cycle_without_exit",
    "nl507_tokens_multiply",
    "nl508_join_never_fills",
    "nl509_tokens_meet_without_join",
    "nl510_branches_write_one_key",
    "nl511_unguarded_failure_arc",
    "nl513_failure_arc_shadowed",
    "nl514_duplicate_arc",
    # 6xx templates and scopes
    "nl601_template_syntax",
    "nl602_unknown_filter",
    "nl603_unknown_test",
    "nl604_unknown_function",
    "nl605_name_not_readable_here",
    "nl606_unknown_name",
    "nl607_bare_name",
    "nl608_write_to_read_only",
    "nl609_set_target_not_here",
    "nl610_set_shape",
    "nl611_set_writes_twice",
    "nl612_statement_in_server_template",
    "nl613_template_too_long",
    "nl614_condition_not_an_expression",
    "nl615_keychain_outside_tool_field",
    "nl616_undeclared_credential",
    "nl617_mapping_method_by_dot",
    "nl618_forbidden_attribute",
    "nl619_unknown_envelope_field",
    "nl620_task_read_before_it_ran",
    "nl621_unquoted_sql",
    "nl622_no_outer_iteration",
    "nl623_unset_scratch_name",
    "nl624_value_as_command",
    # 7xx results
    "nl701_data_into_reference",
    "nl702_reference_into_plain_target",
    "nl703_payload_read_off_reference",
    "nl704_unknown_result_store",
    "nl705_broken_result_schema",
    "nl706_result_schema_outside_task",
    # 9xx deprecated spelling
    "nl901_deprecated_args",
    "nl902_deprecated_outcome",
    "nl903_deprecated_result",
    "nl904_deprecated_set_scope",
    "nl905_labelled_task",
    "nl906_deprecated_arc_args",
    "nl907_deprecated_result_ref",
    "nl920_upstream_spelling",
    "nl950_legacy_construct",
)


def module(name: str) -> ModuleType:
    """The module of one rule."""
    return import_module(f"{__name__}.{name}")


def by_code(code: str) -> ModuleType | None:
    """The module of the rule with this code, or with this name."""
    wanted = code.lower().replace("-", "_")
    names = (name for name in MODULES if name.startswith(f"{wanted}_") or name.partition("_")[2] == wanted)
    return next((module(name) for name in names), None)


@lru_cache(maxsize=1)
def text_rules() -> tuple[Check, ...]:
    """The rules that look at the text itself."""
    return tuple(rule.check for rule in map(module, MODULES) if rule.RULE.is_of_text)


@lru_cache(maxsize=1)
def document_rules() -> tuple[Check, ...]:
    """The rules that look at a playbook."""
    return tuple(rule.check for rule in map(module, MODULES) if not rule.RULE.is_of_text)
