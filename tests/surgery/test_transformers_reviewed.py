"""Surgery on models of Hugging Face, where a review found it wrong or silent."""

import pytest
import torch

import rational_anova as ra

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

SIZES = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
}  # fmt: skip
TEXT = {**SIZES, "vocab_size": 40}
IDS = torch.randint(3, 40, (2, 6), generator=torch.manual_seed(0))


@pytest.fixture(autouse=True)
def _quiet():
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()


def config():
    return transformers.BertConfig(**TEXT)


def t5():
    sizes = {"d_model": 16, "d_ff": 32, "num_layers": 3, "num_heads": 2, "d_kv": 8}
    return transformers.T5ForConditionalGeneration(transformers.T5Config(**sizes, vocab_size=40))


def clip():
    parts = {"text_config": TEXT, "vision_config": {**SIZES, "image_size": 8, "patch_size": 4}}
    return transformers.CLIPModel(transformers.CLIPConfig(**parts, projection_dim=8))


def trained(model):
    with torch.no_grad():
        for unit in model.modules():
            if isinstance(unit, ra.Rational1d):
                unit.gate.fill_(0.3)
                unit.numerator.add_(1.0)
                unit.denominator.add_(0.5)
    return model.eval()


@torch.no_grad()
def answer(model):
    return model(IDS)[0]


@pytest.mark.parametrize("second", [{"denominator": "square"}, {"share": 4}, None])
def test_models_of_one_configuration_keep_their_plans_apart(second, tmp_path):
    shared = config()
    one, other, plain = (transformers.BertModel(shared) for _ in range(3))
    ra.replace_activations_(one)
    report = ra.replace_activations_(other, **(second or {}))
    if second is None:
        report.undo()
    for name, model in (("one", trained(one)), ("other", trained(other))):
        if name == "one" or second:
            model.save_pretrained(tmp_path / name)
            again = ra.load_converted(tmp_path / name, transformers.BertModel).eval()
            assert torch.equal(answer(again), answer(model))
    plain.save_pretrained(tmp_path / "plain")
    with pytest.raises(ValueError, match="records no surgery"):
        ra.load_converted(tmp_path / "plain", transformers.BertModel)
    assert not hasattr(shared, "rational_anova")
    assert hasattr(other.config, "rational_anova") is (second is not None)


def test_parts_of_a_model_go_on_sharing_its_configuration():
    model = transformers.BertForSequenceClassification(config())
    report = ra.replace_activations_(model)
    assert model.bert.config is model.config is model.bert.encoder.config
    report.undo()
    assert model.bert.config is model.config


def test_a_plan_that_came_with_another_models_configuration(tmp_path):
    first = transformers.BertForSequenceClassification(config())
    ra.replace_activations_(first)
    trained(first).save_pretrained(tmp_path / "head")
    # From a model with a head to one without, and into a file again.
    body = ra.load_converted(tmp_path / "head", transformers.BertModel)
    body.save_pretrained(tmp_path / "body")
    again = ra.load_converted(tmp_path / "body", transformers.BertModel).eval()
    assert torch.equal(answer(again), answer(first.bert))
    # Another model from the same configuration, converted in one layer only.
    second = transformers.BertForSequenceClassification(first.config)
    ra.replace_activations_(second, where="*.layer.1.*")
    trained(second).save_pretrained(tmp_path / "second")
    again = ra.load_converted(tmp_path / "second", type(second)).eval()
    assert torch.equal(answer(again), answer(second))


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (lambda: transformers.BertForSequenceClassification(config()), "bert"),
        (lambda: transformers.BertForSequenceClassification(config()), "bert.encoder"),
        (t5, "encoder"),
        (clip, "vision_model"),
    ],
)
def test_units_in_a_part_are_not_lost_in_files(make, part, tmp_path):
    model = make()
    report = ra.replace_activations_(model.get_submodule(part))
    trained(model).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=r"units that its config.json does not plan.*with where="):
        ra.load_converted(tmp_path, type(model))
    # The way out of the message.
    again = make()
    ra.reapply_(again.get_submodule(part), report.plan)
    again.load_state_dict(model.state_dict())
    # Surgery on the whole, of the same part, is written and read.
    whole = make()
    ra.replace_activations_(whole, where=lambda name: name.startswith(part))
    whole.save_pretrained(tmp_path / "whole")
    assert ra.load_converted(tmp_path / "whole", type(whole)) is not None


def test_units_beyond_the_plan_are_refused(tmp_path):
    model = transformers.BertForSequenceClassification(config())
    ra.replace_activations_(model, where="*.layer.0.*")
    ra.replace_activations_(model.bert.encoder, where="layer.1.*")
    model.save_pretrained(tmp_path)
    with pytest.raises(
        ValueError, match=r"does not plan \(bert.encoder.layer.1.*part of the model"
    ):
        ra.load_converted(tmp_path, type(model))


@pytest.mark.parametrize("name", ["layer.0.*", "*layer.0.intermediate*"])
def test_patterns_for_activations_that_hold_a_function(name):
    model = transformers.BertModel(config()).encoder
    report = ra.replace_activations_(model, where=name)
    assert [c.name for c in report.changes] == ["layer.0.intermediate.intermediate_act_fn"]
    assert report.left == ("layer.1.intermediate.intermediate_act_fn",)


def depths(model):
    groups = ra.parameter_groups(model, 1.0, layer_decay=0.9)
    found = {id(p): g["depth"] for g in groups for p in g["params"]}
    return {name: found[id(p)] for name, p in model.named_parameters()}


@pytest.mark.parametrize("converted", [False, True])
def test_rates_rise_through_stages(converted):
    sizes = {"image_size": 64, "patch_size": 2, "embed_dim": 8, "window_size": 4}
    model = transformers.SwinModel(
        transformers.SwinConfig(**sizes, depths=[2, 2, 6, 2], num_heads=[1, 1, 1, 1])
    )
    if converted:
        ra.replace_activations_(model)
    found = depths(model)
    blocks = [
        {d for name, d in found.items() if name.startswith(f"encoder.layers.{stage}.blocks.{n}.")}
        for stage, count in enumerate([2, 2, 6, 2])
        for n in range(count)
    ]
    assert blocks == [{n} for n in range(11, -1, -1)]
    assert found["embeddings.patch_embeddings.projection.weight"] == 12
    assert found["encoder.layers.1.downsample.reduction.weight"] == 8
    assert found["layernorm.weight"] == 0


def test_encoder_and_decoder_are_counted_apart():
    found = depths(t5())
    assert found["shared.weight"] == 3
    assert [found[f"encoder.block.{n}.layer.0.layer_norm.weight"] for n in range(3)] == [2, 1, 0]
    assert found["encoder.final_layer_norm.weight"] == found["decoder.final_layer_norm.weight"] == 0
    assert found["decoder.block.0.layer.0.layer_norm.weight"] == 2
    assert depths(clip())["text_model.final_layer_norm.weight"] == 0


def test_experts_without_linear_maps_are_named():
    experts = {"num_experts": 4, "moe_intermediate_size": 8, "shared_expert_intermediate_size": 24}
    tokens = {f"{name}_token_id": n for n, name in enumerate(("pad", "bos", "eos"))}
    settings = transformers.Qwen2MoeConfig(**TEXT, **experts, **tokens, num_key_value_heads=2)
    model = transformers.Qwen2MoeForCausalLM(settings)
    report = ra.replace_activations_(model)
    seen = [change.name for change in report.changes] + list(report.left)
    assert "model.layers.0.mlp.shared_expert.act_fn" in seen
    assert any("mlp.experts" in name for name in seen)
    assert all(name in str(report) for name in report.left)
