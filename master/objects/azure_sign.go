package objects

import (
	"cmp"
	"encoding/json"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/fault"
)

// AzureFields are the fields of a configuration for a storage account.
type AzureFields struct{ ConnectionString, AccountURL, Credential string }

// Account is the account in the fields, with its credentials.
func (f AzureFields) Account() (AzureAccount, error) {
	if f.ConnectionString != "" {
		return AzureByString(f.ConnectionString)
	}
	return AzureByURL(f.AccountURL, f.Credential)
}

// Signed reports whether the account has credentials.
func (a AzureAccount) Signed() bool { return a.Key != nil || a.Token != "" }

// SignedBy returns the account with the credentials in a secret: a credential, or a connection
// string of the same account.
func (a AzureAccount) SignedBy(secret []byte) (AzureAccount, error) {
	var s struct {
		ConnectionString string `json:"connection_string"`
		Credential       string `json:"credential"`
	}
	if err := json.Unmarshal(secret, &s); err != nil || s.ConnectionString == "" && s.Credential == "" {
		return a, fault.New(fault.Unavailable, "the secret for Azure has neither a credential nor a connection_string")
	}
	if s.Credential != "" {
		if !a.atAzure() {
			return a, fault.New(fault.Unavailable, "the secret for Azure has a credential, which is sent to no other host than Azure's: not to %s; put a connection_string of that account into the secret", a.URL)
		}
		return azureAccount(a.URL, a.Name, s.Credential)
	}
	return a.signedLike(s.ConnectionString)
}

func (a AzureAccount) signedLike(connection string) (AzureAccount, error) {
	other, err := AzureByString(connection)
	if err == nil && !strings.EqualFold(other.URL, a.URL) {
		err = fault.New(fault.Unavailable, "the connection string for Azure belongs to %s, but the checkpoints are in %s", other.URL, a.URL)
	}
	return other, err
}

// SignedByEnvironment returns the account with the credentials in the variables of Azure's
// command line, if they belong to this account.
func (a AzureAccount) SignedByEnvironment() (AzureAccount, error) {
	if connection := os.Getenv("AZURE_STORAGE_CONNECTION_STRING"); connection != "" {
		return a.signedLike(connection)
	}
	name := os.Getenv("AZURE_STORAGE_ACCOUNT")
	if !a.atAzure() || name != "" && name != a.Name {
		return a, nil
	}
	credential := os.Getenv("AZURE_STORAGE_KEY")
	if name != "" { // a token does not say whose it is
		credential = cmp.Or(credential, os.Getenv("AZURE_STORAGE_SAS_TOKEN"))
	}
	return azureAccount(a.URL, a.Name, credential)
}

// atAzure reports whether the account is at Azure, or at an emulator on this machine. Users choose the addresses of their configurations, and
// credentials of the cluster go to no host of theirs: even a signature is of use to it, because Azure's signatures do not contain the host.
func (a AzureAccount) atAzure() bool {
	u, err := url.Parse(a.URL)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	if ip := net.ParseIP(host); host == "localhost" || ip != nil {
		return ip == nil || ip.IsLoopback()
	}
	return u.Scheme == "https" && slices.ContainsFunc(azureDomains(), func(d string) bool { return strings.HasSuffix(host, d) })
}

// azureDomains are the domains of Azure's storage, in all its clouds.
func azureDomains() []string {
	return []string{".core.windows.net", ".storage.azure.net", ".core.chinacloudapi.cn", ".core.usgovcloudapi.net"}
}
