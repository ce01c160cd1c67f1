"""Asks through LiteLLM as the config file in argv[1] says."""

import sys

import litellm
import yaml

with open(sys.argv[1], encoding="utf-8") as file:
    config = yaml.safe_load(file)
router = litellm.Router(model_list=config["model_list"])
answer = router.completion(model="openhands", messages=[{"role": "user", "content": "Which version of git is installed?"}])
print(answer.choices[0].message.content)
