package server

import (
	"slices"
	"strings"
	"testing"
)

// TestRegionsOfPools: a pool names a region that is configured, and runs in the region's datacenters.
func TestRegionsOfPools(t *testing.T) {
	const nomad = "database: postgres://a/b\nnomad: {region: east, datacenters: [e1], regions: [{name: west, address: 'http://w:4646', datacenters: [w1]}, {name: north, address: 'http://n:4646'}]}\n"
	c, err := load(t, nomad+"resource_pools: [{name: a}, {name: b, region: east}, {name: c, region: west}, {name: d, region: north}]", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	pools, err := c.pools(nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range pools {
		got = append(got, p.Name+" "+p.Region+" "+strings.Join(p.Datacenters, ","))
	}
	if want := []string{"a  e1", "b  e1", "c west w1", "d north "}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	env := []string{"DETENT_NOMAD_REGION=east", `DETENT_NOMAD_REGIONS=[{name: west, address: "https://w:4646", token: secret}]`}
	if c, err := load(t, "database: postgres://a/b\nresource_pools: [{name: c, region: west}]", env, nil); err != nil || len(c.Nomad.Regions) != 1 || c.Nomad.Regions[0].Token != "secret" {
		t.Errorf("from the environment: %v, %+v", err, c.Nomad)
	}
	if of := inRegion(pools, "west"); len(of) != 1 || of[0].Name != "c" || len(inRegion(pools, "")) != 2 {
		t.Errorf("the pools of the west are %v", of)
	}
}

// TestWrongRegions: each mistake is named with its place.
func TestWrongRegions(t *testing.T) {
	const one = "database: postgres://a/b\nnomad: {region: east, regions: [{name: west, address: 'http://w:4646'}]}\n"
	for config, want := range map[string]string{
		one + "resource_pools: [{name: a, region: wset}]":                                                                                   `resource_pools[0].region: expected nomad.region or one of nomad.regions, found "wset"`,
		"database: postgres://a/b\nresource_pools: [{name: a, region: west}]":                                                               `resource_pools[0].region: expected nomad.region or one of nomad.regions, found "west"`,
		"database: postgres://a/b\nnomad: {regions: [{name: west, address: 'http://w:4646'}]}":                                              "nomad.region: is required with nomad.regions",
		"database: postgres://a/b\nnomad: {region: e, regions: [{name: west}]}":                                                             "nomad.regions[0].address: expected an address",
		"database: postgres://a/b\nnomad: {region: e, regions: [{name: e, address: 'http://w:1'}]}":                                         `nomad.regions[0].name: "e" is the region of nomad.address`,
		"database: postgres://a/b\nnomad: {region: e, regions: [{name: w, address: 'http://w:1'}, {name: w, address: 'http://w:2'}]}":       `nomad.regions[1].name: every region needs a name of its own, found "w" twice`,
		"database: postgres://a/b\nnomad: {region: e, regions: [{name: a.b, address: 'http://w:1'}]}":                                       `nomad.regions[0].name: expected letters, digits, dashes and underscores`,
		"database: postgres://a/b\nnomad: {region: e, regions: [{name: w, address: 'http://w:1', token: a, token_file: b}]}":                "nomad.regions[0]: expected one of token and token_file, found both",
		"database: postgres://a/b\nnomad:\n  region: e\n  regions:\n    - {name: w, addrss: 'http://w:1'}":                                  "5:17: nomad.regions[0].addrss: no such key; did you mean address?",
		one + "tasks_domain: t.example\npublic_url: https://m.example\ningress: {kind: traefik}\nresource_pools: [{name: a, region: west}]": "resource_pools[0].region: an ingress finds only tasks that are registered in its own region (east), and this pool is in region west",
	} {
		if _, err := load(t, config, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v\nwant %s", config, err, want)
		}
	}
}
