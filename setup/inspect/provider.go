package inspect

import (
	"context"
	"errors"

	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/setup/doctor"
	"github.com/ohgw/ohgw/setup/modelcheck"
)

// providerState asks the provider of the active profile for its models.
func (p *Installation) providerState(ctx context.Context) (doctor.Provider, error) {
	found, err := p.profileState(ctx)
	if err != nil || found.Active == nil {
		return doctor.Provider{}, err
	}
	store, err := p.ProfileStore(0)
	if err != nil {
		return doctor.Provider{}, err
	}
	s, err := p.Settings()
	if err != nil {
		return doctor.Provider{}, err
	}
	keyStore, err := p.OpenKeyStore(s, secret.PatienceForMachines)
	if err != nil {
		return doctor.Provider{}, err
	}
	keys := secret.NewResolver(keyStore, secret.Providers(), p.Lookup)
	list, err := modelcheck.New(p.Env, store, keys, doctor.ProviderPatience).List(ctx, found.Active.Name)
	out := doctor.Provider{Host: list.Host, Models: list.Models, Model: list.Wanted, Change: list.Change, Context: list.Serving.Tokens, Server: list.Serving.Server}
	if errors.Is(err, modelcheck.ErrNoList) {
		return out, doctor.ErrNoList
	}
	if err != nil {
		return out, err
	}
	out.Problem = problem(&list)
	return out, nil
}

// problem turns an answer of a provider into a finding; nil for an answer without a
// problem.
func problem(list *modelcheck.Listing) *doctor.Finding {
	verdict := doctor.Failed
	switch list.Outcome {
	case modelcheck.Answered:
		return nil
	case modelcheck.Loading:
		return &doctor.Finding{
			Verdict: doctor.Warning, Text: list.Host + " loads its model, and answers nothing before",
			Repair: "wait until it has loaded it, then: ohgw doctor",
		}
	case modelcheck.NotAsked, modelcheck.WrongAddress: // not every provider has a list
		verdict = doctor.Warning
	}
	text := "the provider of the active profile " + list.Profile + " cannot be used"
	if list.Host != "" {
		text += " (" + list.Host + ")"
	}
	return &doctor.Finding{Verdict: verdict, Text: text, Cause: list.Text, Repair: list.Repair}
}
