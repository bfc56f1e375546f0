"""Every provider as one row of a table."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from paicli.llm.prices import Prices
from paicli.values import value

_THINKING_ON: Mapping[str, Any] = {"temperature": 1.0, "top_p": 0.95, "reasoning_effort": "max"}
_WITH_USAGE: Mapping[str, Any] = {"stream_options": {"include_usage": True}}

DSML = "dsml"
"""DeepSeek's own tags for tool calls."""
MARKED = "marked"
"""Calls between markers: `<tool_call>`, Qwen's and Kimi's forms."""
FENCED = "fenced"
"""A fenced JSON object with exactly `name` and `arguments`."""


@value
class Model:
    """What one model of a provider does differently; None means as the provider's row says."""

    context_window: int | None = None
    extra_body: Mapping[str, Any] | None = None
    sends_reasoning: bool | None = None
    images: bool | None = None
    text_calls: tuple[str, ...] | None = None
    prices: Prices | None = None
    url: str = ""


@value
class Provider:
    """A row of the table. `models` is looked up by exact id, then by the longest prefix ending in `*`."""

    name: str
    base_url: str
    model: str
    context_window: int
    aliases: tuple[str, ...] = ()
    catalog: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    sends_reasoning: bool = False
    tools: bool = True
    images: bool = False
    cache_mode: str = "none"
    text_calls: tuple[str, ...] = ()
    thinking_switch: bool = False
    needs_key: bool = True
    any_model: bool = False
    """The service serves whatever model it was given; an unknown id may be meant for it."""
    models: Mapping[str, Model] = field(default_factory=dict)

    def model_row(self, model: str) -> Model:
        """Return what is special about a model; an empty row when nothing is."""
        if model in self.models:
            return self.models[model]
        matching = [
            key for key in self.models if key.endswith("*") and model.startswith(key.rstrip("*"))
        ]
        return self.models[max(matching, key=len)] if matching else Model()


_DEEPSEEK_PRICES = Prices(input=2, output=8, cached=0.5, currency="¥")
_DEEPSEEK_V4 = Model(
    extra_body={**_THINKING_ON, "thinking": {"type": "enabled"}},
    text_calls=(DSML,),
    prices=_DEEPSEEK_PRICES,
)
_DEEPSEEK_SEES = dataclasses.replace(_DEEPSEEK_V4, images=True)
_GLM_53 = Model(
    context_window=1_000_000,
    extra_body={
        **_THINKING_ON,
        "thinking": {"type": "enabled", "clear_thinking": False},
        "tool_stream": True,
        **_WITH_USAGE,
    },
    sends_reasoning=True,
)

PROVIDERS: Mapping[str, Provider] = {
    row.name: row
    for row in (
        Provider(
            "deepseek",
            "https://api.deepseek.com",
            "deepseek-flash",
            1_000_000,
            catalog=("deepseek-flash", "deepseek-v4-pro"),
            prefixes=("deepseek",),
            sends_reasoning=True,
            cache_mode="automatic-prefix-cache",
            thinking_switch=True,
            models={
                "deepseek-flash": _DEEPSEEK_SEES,
                "deepseek-v4-flash": _DEEPSEEK_SEES,
                "deepseek-v4-flash-vision-exp": _DEEPSEEK_SEES,
                "deepseek-v4-*": _DEEPSEEK_V4,
            },
        ),
        Provider(
            "glm",
            "https://open.bigmodel.cn/api/coding/paas/v4",
            "glm-5.1",
            200_000,
            aliases=("zhipu",),
            catalog=("glm-5.1", "glm-5.3-flash", "glm-5v-turbo"),
            prefixes=("glm-",),
            images=True,
            cache_mode="glm-prompt-cache",
            thinking_switch=True,
            models={
                "glm-5.3*": _GLM_53,
                "glm-5v*": Model(url="https://open.bigmodel.cn/api/paas/v4"),
            },
        ),
        Provider(
            "hunyuan",
            "https://tokenhub.tencentmaas.com/v1",
            "hy4-preview",
            1_000_000,
            aliases=("hy4", "hy4-preview", "tokenhub", "tencent-hunyuan", "tencent_hunyuan"),
            catalog=("hy4-preview",),
            prefixes=("hy4-", "hunyuan-"),
            extra_body={
                "temperature": 0.9,
                "reasoning_effort": "high",
                "thinking": {"type": "enabled"},
                **_WITH_USAGE,
            },
            sends_reasoning=True,
            cache_mode="hunyuan-prefix-cache",
            thinking_switch=True,
        ),
        Provider(
            "step",
            "https://api.stepfun.com/v1",
            "step-3.5-flash",
            256_000,
            aliases=("stepfun", "step-fun"),
            catalog=("step-3.5-flash",),
            prefixes=("step",),
        ),
        Provider(
            "kimi",
            "https://api.moonshot.ai/v1",
            "kimi-k2.6",
            256_000,
            aliases=("moonshot", "moonshotai", "moonshot-ai"),
            catalog=("kimi-k2.6",),
            prefixes=("kimi-", "moonshot-"),
            sends_reasoning=True,
            images=True,
            cache_mode="moonshot-context-cache",
        ),
        Provider(
            "freellmapi",
            "http://localhost:5173/v1",
            "auto",
            128_000,
            aliases=("free-llm-api", "free_llm_api", "freellm", "free-llm"),
            catalog=("auto",),
            any_model=True,
        ),
        Provider(
            "xfyun",
            "https://maas-api.cn-huabei-1.xf-yun.com/v2",
            "Qwen3.6-35B-A3B",
            128_000,
            aliases=(
                "xfyun-maas", "xfyun_maas", "iflytek", "iflytek-maas", "iflytek_maas", "maas",
            ),
            catalog=("Qwen3.6-35B-A3B",),
            extra_body=_WITH_USAGE,
            tools=False,
            images=True,
            any_model=True,
        ),
        Provider(
            "agnes",
            "https://apihub.agnes-ai.com/v1",
            "agnes-2.0-flash",
            1_000_000,
            aliases=("agnes-ai", "agnes_ai", "sapiens", "sapiens-ai", "sapiens_ai"),
            catalog=("agnes-2.0-flash",),
            prefixes=("agnes-",),
        ),
        Provider(
            "openai",
            "https://api.openai.com/v1",
            "",
            128_000,
            extra_body=_WITH_USAGE,
            images=True,
            any_model=True,
        ),
        Provider(
            "local",
            "http://127.0.0.1:11434/v1",
            "default",
            32_768,
            aliases=("ollama", "llama-server", "lmstudio", "vllm"),
            extra_body=_WITH_USAGE,
            text_calls=(MARKED, FENCED),
            needs_key=False,
            any_model=True,
        ),
    )
}  # fmt: skip
"""In the order in which the first configured one is chosen (the order of PROVIDER_PREFIXES)."""
