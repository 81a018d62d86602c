# Plain Make, for any other CI: make -f evctl.mk KEY=FILE. See README.md beside this file for what the repository holds.
# `verify` needs no key and leaves evctl.sarif; `run` leaves result.json and what the tool wrote, in out/.
EXPERT ?= crm-helper
TOOL ?= chart-leads
ARGS ?= --arg month=2026-10
KEY ?= $(HOME)/.config/evctl/master.key
export EVCTL_HOME ?= $(CURDIR)/.evctl

.PHONY: run verify clean

run: verify
	evctl-run $(EXPERT) $(TOOL) --draft $(ARGS) --outputs out --yes --key-file $(KEY) > result.json
	cat result.json

verify: $(EVCTL_HOME)/state.db
	evctl-apply -f evctl.yaml
	evctl-verify $(EXPERT) -o sarif > evctl.sarif || { evctl-verify $(EXPERT); exit 1; }

$(EVCTL_HOME)/state.db:
	evctl-state restore ci/state

clean:
	rm -rf $(EVCTL_HOME) evctl.sarif result.json out
