package objects

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/fault"
)

// An AzureAccount is a storage account with a key, a token, or no credentials.
type AzureAccount struct {
	URL   string // of its blobs, without a token
	Name  string // account name for signatures with a key
	Key   []byte
	Token string // a shared access signature: a query without its question mark
}

// The account of Azure's storage emulator, whose key is public.
const (
	developmentAccount = "devstoreaccount1"
	developmentKey     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
	developmentURL     = "http://127.0.0.1:10000/" + developmentAccount
)

// AzureByString parses a connection string.
func AzureByString(text string) (AzureAccount, error) {
	parts := map[string]string{}
	for _, part := range strings.Split(text, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, value, found := strings.Cut(part, "=")
		if !found { // the message omits the text, which may contain a key
			return AzureAccount{}, fault.New(fault.Invalid, "checkpoint_storage.connection_string must consist of parts like AccountName=value, separated by semicolons")
		}
		parts[strings.ToLower(name)] = value
	}
	if strings.EqualFold(parts["usedevelopmentstorage"], "true") {
		parts = map[string]string{"accountname": developmentAccount, "accountkey": developmentKey, "blobendpoint": developmentURL}
	}
	address := parts["blobendpoint"]
	if address == "" && parts["accountname"] != "" {
		address = cmp.Or(parts["defaultendpointsprotocol"], "https") + "://" + parts["accountname"] + ".blob." + cmp.Or(parts["endpointsuffix"], "core.windows.net")
	}
	if address == "" {
		return AzureAccount{}, fault.New(fault.Invalid, "checkpoint_storage.connection_string has neither AccountName nor BlobEndpoint")
	}
	return azureAccount(address, parts["accountname"], cmp.Or(parts["accountkey"], parts["sharedaccesssignature"]))
}

// AzureByURL parses the address of an account, which may contain a token, and its credential: a
// key, a token or "".
func AzureByURL(address, credential string) (AzureAccount, error) {
	return azureAccount(address, "", credential)
}

func azureAccount(address, name, credential string) (AzureAccount, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.Fragment != "" {
		return AzureAccount{}, fault.New(fault.Invalid, "the address of the storage account is not a URL such as https://account.blob.core.windows.net")
	}
	a := AzureAccount{Name: cmp.Or(name, accountIn(u)), Token: u.RawQuery}
	u.RawQuery = ""
	a.URL = strings.TrimRight(u.String(), "/")
	credential = strings.TrimPrefix(credential, "?")
	switch {
	case credential == "":
		return a, nil
	case isToken(credential):
		a.Token = credential
		return a, nil
	}
	if a.Key, err = base64.StdEncoding.DecodeString(credential); err != nil {
		return AzureAccount{}, fault.New(fault.Invalid, "the credential for the storage account %s is neither an account key nor a shared access signature", a.URL)
	}
	if a.Name == "" {
		return AzureAccount{}, fault.New(fault.Invalid, "the address %s does not contain the name of the storage account, which is needed with a key; set a connection_string with AccountName", a.URL)
	}
	a.Token = ""
	return a, nil
}

// accountIn is the name of the account in its address: the first part of the host name, or the
// first folder of an emulator's path.
func accountIn(u *url.URL) string {
	if host := u.Hostname(); host == "localhost" || net.ParseIP(host) != nil {
		name, _, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
		return name
	}
	name, _, found := strings.Cut(u.Host, ".blob.")
	if !found {
		return ""
	}
	return name
}

// isToken reports whether a credential is a shared access signature.
func isToken(credential string) bool {
	q, err := url.ParseQuery(credential)
	return err == nil && q.Has("sig") && q.Has("sv")
}

// IsMicrosofts reports whether an account belongs to one of Azure's clouds.
func (a AzureAccount) IsMicrosofts() bool {
	u, err := url.Parse(a.URL)
	if err != nil || u.Scheme != "https" || u.Port() != "" || strings.Trim(u.Path, "/") != "" {
		return false
	}
	for _, cloud := range []string{".blob.core.windows.net", ".blob.core.usgovcloudapi.net", ".blob.core.chinacloudapi.cn"} {
		if name, found := strings.CutSuffix(strings.ToLower(u.Hostname()), cloud); found && name != "" && !strings.Contains(name, ".") {
			return true
		}
	}
	return false
}

// A sharedKey signs requests with the key of an account.
type sharedKey struct {
	account string
	key     []byte
}

// sign signs a request. Of its headers, only the length and those that begin with x-ms- are
// signed.
func (k sharedKey) sign(r *http.Request) error {
	var text strings.Builder
	length := ""
	if r.ContentLength > 0 {
		length = strconv.FormatInt(r.ContentLength, 10)
	}
	text.WriteString(r.Method + "\n\n\n" + length + strings.Repeat("\n", 9)) // missing headers are empty lines
	var names []string
	for name := range r.Header {
		if strings.HasPrefix(strings.ToLower(name), "x-ms-") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		text.WriteString(strings.ToLower(name) + ":" + strings.TrimSpace(r.Header.Get(name)) + "\n")
	}
	text.WriteString("/" + k.account + r.URL.EscapedPath())
	query := r.URL.Query()
	names = names[:0]
	for name := range query {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		values := slices.Sorted(slices.Values(query[name]))
		text.WriteString("\n" + strings.ToLower(name) + ":" + strings.Join(values, ","))
	}
	mac := hmac.New(sha256.New, k.key)
	mac.Write([]byte(text.String()))
	r.Header.Set("Authorization", "SharedKey "+k.account+":"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return nil
}
