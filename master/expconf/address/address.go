// Package address tells the credentials in the sections of storages from the places that they name. It is pure.
package address

import (
	"cmp"
	"strings"
)

// Account is the address of a storage account. If a connection string has only the name of
// the account, the address is Azure's default for that name.
func Account(address, connection string) string {
	for _, part := range strings.Split(connection, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch strings.ToLower(name) {
		case "blobendpoint":
			address = value
		case "accountname":
			address = cmp.Or(address, "https://"+value+".blob.core.windows.net")
		}
	}
	return strings.ToLower(strings.TrimRight(Plain(address), "/"))
}

// Plain returns an address without what may be a credential: its query, its fragment, and what is before its host. These are the
// parts that the API hides.
func Plain(address string) string {
	if i := strings.IndexAny(address, "?#"); i >= 0 {
		address = address[:i]
	}
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		scheme, rest = "", address
	}
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	if !ok {
		return rest
	}
	return scheme + "://" + rest
}

// WithoutKeys removes the credentials from a storage that a program named; the location stays.
func WithoutKeys(storage map[string]any) map[string]any {
	out := make(map[string]any, len(storage))
	for key, value := range storage {
		text, _ := value.(string)
		switch key {
		case "access_key", "secret_key", "credential":
		case "connection_string":
			if text != "" {
				out["account_url"] = Account("", text)
			}
		case "account_url", "endpoint_url":
			if text != "" {
				out[key] = Plain(text)
			}
		default:
			out[key] = value
		}
	}
	return out
}
