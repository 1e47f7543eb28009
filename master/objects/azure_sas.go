package objects

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"strings"
	"time"
)

// Addresses of Azure's storage are signed with the key of the account (a shared access signature for one blob). A token signs nothing, and gives its own
// rights to whoever has it, so with a token nothing is signed.
//
// Azure's signature for the blocks of a blob also allows to write the blob itself, for as long as the address lives. So the blocks belong to a blob beside
// the one that they become (aside), and the master copies that one to its place.

// shared signs the address of one blob: r to read it, w to write it and its blocks.
func (k sharedKey) shared(container, key, rights string, secure bool, now time.Time, life time.Duration) url.Values {
	protocol := "https"
	if !secure { // an emulator's
		protocol = "https,http"
	}
	until := now.UTC().Add(life).Format("2006-01-02T15:04:05Z")
	mac := hmac.New(sha256.New, k.key)
	mac.Write([]byte(strings.Join([]string{
		rights, "", until, "/blob/" + k.account + "/" + container + "/" + key, "", "", protocol, azureVersion, "b", "", "", "", "", "", "",
	}, "\n")))
	return url.Values{"sp": {rights}, "se": {until}, "spr": {protocol}, "sv": {azureVersion}, "sr": {"b"}, "sig": {base64.StdEncoding.EncodeToString(mac.Sum(nil))}}
}

func (s *azureStore) signed(key, rights string, now time.Time, life time.Duration) url.Values {
	return s.key.shared(s.name, key, rights, strings.HasPrefix(s.base, "https://"), now, life)
}

func (s *azureStore) signParts(_ context.Context, key, id string, n int, life time.Duration) ([]string, error) {
	if s.key == nil {
		return nil, nil
	}
	query := s.signed(s.aside(key, id), "w", time.Now(), life)
	query.Set("comp", "block")
	list := make([]string, 0, n)
	for i := range n {
		query.Set("blockid", block(id, i+1))
		list = append(list, s.url(s.aside(key, id), query))
	}
	return list, nil
}

func (s *azureStore) signGet(_ context.Context, key string, life time.Duration) (string, error) {
	if s.key == nil {
		return "", nil
	}
	return s.url(key, s.signed(key, "r", time.Now(), life)), nil
}
