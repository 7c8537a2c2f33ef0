"""A small agent whose sessions survive it: it runs errands on a market, and asks before it pays.

    python agent.py errands "Buy lamp oil, but ask the chandler for the price first."
    python agent.py errands "Now a coil of rope."         # another day, the same session
    python agent.py errands --fork dearer "Two of them."  # apart from here on

It talks to any endpoint that is compatible with OpenAI's: OPENAI_BASE_URL names it (OpenAI's own
by default; Ollama http://localhost:11434/v1, LM Studio http://localhost:1234/v1, vLLM
http://localhost:8000/v1), OPENAI_MODEL the model, OPENAI_API_KEY the key where one is needed.
Kill it in the middle of a tool, and run it again: it tells what nobody knows.
"""

import argparse
import json
import os
import urllib.request
from pathlib import Path

from sesstool import Recorder, SessionStore

SYSTEM = {"role": "system", "content": "You run errands on a market. Talk to people, then buy."}
TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
PARAMETERS = {
    "talk_to": {"who": TEXT, "words": TEXT},
    "buy": {"thing": TEXT, "price": NUMBER},
}


def talk_to(who, words):
    """Nothing changes in the world by it."""
    return f"{who} hears {words!r}, and says: three coins, and not one less."


def buy(thing, price):
    """Something does: it is written down, and the coins are gone."""
    answer = input(f"buy {thing} for {price} coins? [y/n] ")
    if answer != "y":
        return "The person does not want it."
    with Path("purchases.txt").open("a") as book:
        book.write(f"{thing} {price}\n")
    return f"You have {thing} now."


TOOLS = {"talk_to": talk_to, "buy": buy}


def ask(messages):
    """The model's next message, and what it used."""
    functions = [
        {"name": name, "parameters": {"type": "object", "properties": properties}}
        for name, properties in PARAMETERS.items()
    ]
    body = {"model": os.environ.get("OPENAI_MODEL", "gpt-5-mini"), "messages": messages}
    body["tools"] = [{"type": "function", "function": function} for function in functions]
    base = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1")
    key = os.environ.get("OPENAI_API_KEY", "none")
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    request = urllib.request.Request(f"{base}/chat/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as response:
        reply = json.load(response)
    return reply["choices"][0]["message"], reply.get("usage")


def turn(recorder, words):
    """One prompt, and all that it leads to."""
    recorder.message({"role": "user", "content": words})
    while True:
        message, usage = ask([SYSTEM, *recorder.session.messages()])
        recorder.message(message, usage=usage)
        if not message.get("tool_calls"):
            recorder.end("completed")
            return message["content"]
        for call in message["tool_calls"]:
            tool, given = call["function"]["name"], call["function"]["arguments"]
            said = recorder.run(call["id"], tool, given, TOOLS.get(tool))
            recorder.message({"role": "tool", "tool_call_id": call["id"], "content": said})


def main():
    parser = argparse.ArgumentParser(description="An agent that runs errands on a market.")
    parser.add_argument("session", help="a new name, or that of an earlier day")
    parser.add_argument("words", help="what you want")
    parser.add_argument("--fork", metavar="NAME", help="go on in a copy of this name")
    given = parser.parse_args()
    store = SessionStore("sessions", format="mycodeagent")
    if given.fork:
        store.fork(given.session, given.fork)
    with store.open(given.fork or given.session) as session, Recorder(session) as recorder:
        for call in session.resume(harmless={"talk_to"}).uncertain:
            if not call.repeatable:
                print(f"nobody knows whether this was done: {call.tool} {call.arguments}")
        print(turn(recorder, given.words))


if __name__ == "__main__":
    main()
