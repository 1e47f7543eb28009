package server

import (
	"slices"
	"strings"
	"testing"
)

func TestIngressOfTheConfiguration(t *testing.T) {
	env := []string{"DETENT_DATABASE=postgres://a/b"}
	cfg, err := load(t, "public_url: https://det.example.com\ntasks_domain: tasks.example.com:8443\ningress: {kind: traefik, auth_url: 'http://det-master.service.consul:8080/', entrypoints: [websecure], certificate_resolver: le}\n", env, nil)
	if err != nil {
		t.Fatal(err)
	}
	in := cfg.Ingress.site(cfg.origins(""))
	if got := in.Host("12.Abc_d"); got != "12-abc-d.tasks.example.com" {
		t.Errorf("the host of a task is %s", got)
	}
	if in.AuthURL != "http://det-master.service.consul:8080/ingress" || !in.TLS || in.CertResolver != "le" || in.Transport != "det-tasks@file" ||
		!slices.Contains(in.Headers, "Cookie") || !slices.Contains(in.Headers, "Authorization") || !slices.Contains(in.Headers, "X-Detent-Gateway") {
		t.Errorf("%+v", in)
	}
	if !slices.Contains(cfg.hosts(), "det-master.service.consul:8080") {
		t.Errorf("the master rejects the ingress, whose questions name it so: %v", cfg.hosts())
	}
	if own, err := load(t, "tasks_domain: t.example.com\ningress: {kind: traefik, transport: ours@file}\n", env, nil); err != nil || own.Ingress.site(own.origins("")).Transport != "ours@file" {
		t.Errorf("a transport of the operators': %v", err)
	}
	if plain, err := load(t, "", env, nil); err != nil || plain.Ingress.site(plain.origins("")) != nil {
		t.Error("there is an ingress by default")
	}
	for yaml, want := range map[string]string{
		"ingress: {kind: traefik}":                                                           "requires tasks_domain",
		"ingress: {kind: fabio}\ntasks_domain: t.example.com":                                "Fabio cannot add headers",
		"ingress: {kind: nginx}":                                                             "expected traefik",
		"ingress: {kind: traefik}\ntasks_domain: 't`.example.com'":                           "requires tasks_domain",
		"ingress: {kind: traefik, auth_url: 'http://m/x'}\ntasks_domain: t.example.com":      "ingress.auth_url",
		"ingress: {kind: traefik, auth_url: 'http://m${x}'}\ntasks_domain: t.example.com":    "ingress.auth_url",
		"ingress: {kind: traefik, entrypoints: ['a,b']}\ntasks_domain: t.example.com":        "ingress.entrypoints",
		"ingress: {kind: traefik, certificate_resolver: 'a b'}\ntasks_domain: t.example.com": "ingress.certificate_resolver",
		"ingress: {kind: traefik, transport: 'a`'}\ntasks_domain: t.example.com":             "ingress.transport",
	} {
		if _, err := load(t, yaml+"\n", env, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", yaml, err, want)
		}
	}
}
