package account

import (
	"cmp"
	"encoding/base64"
	"errors"
	"net/url"
	"os"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
)

// connection contains the settings of a connection string.
type connection struct {
	name, key string
	sas       string
	endpoints Endpoints
}

// emulator is the connection string that UseDevelopmentStorage=true abbreviates: the published
// account of the emulator on its default ports.
const emulator = "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;" +
	"AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;" +
	"BlobEndpoint=http://127.0.0.1:10000/devstoreaccount1;QueueEndpoint=http://127.0.0.1:10001/devstoreaccount1;TableEndpoint=http://127.0.0.1:10002/devstoreaccount1"

// parseConnection parses a connection string ('Configure Azure Storage connection strings'). Its
// errors contain nothing of the string.
func parseConnection(cs string) (connection, error) {
	settings, err := parseSettings(cs)
	if err != nil {
		return connection{}, err
	}
	if strings.EqualFold(settings["usedevelopmentstorage"], "true") {
		if proxy := settings["developmentstorageproxyuri"]; proxy != "" {
			return parseConnection(strings.ReplaceAll(emulator, "http://127.0.0.1", strings.TrimSuffix(proxy, "/")))
		}
		return parseConnection(emulator)
	}
	c := connection{name: settings["accountname"], key: settings["accountkey"], sas: settings["sharedaccesssignature"]}
	c.endpoints = Endpoints{settings["tableendpoint"], settings["queueendpoint"], settings["blobendpoint"]}
	signed, unsigned := c.endpoints.signatures()
	inEndpoints := signed != "" && c.sas == "" // else SharedAccessSignature signs the endpoints without a signature
	if c.name != "" && !inEndpoints {
		c.addEndpoints(settings)
	}
	switch {
	case inEndpoints && c.key != "":
		return c, wrong("the connection string", "has an AccountKey and a signature (sig=) in "+signed+"; remove one of them")
	case inEndpoints && unsigned != "":
		return c, wrong("the connection string", "has a signature (sig=) in "+signed+" and none in "+unsigned+"; give each endpoint one, or set SharedAccessSignature")
	case inEndpoints:
		return c, nil
	case c.sas == "" && c.key == "":
		return c, wrong("the connection string", "has neither AccountKey nor SharedAccessSignature, and no endpoint has a signature (sig=); it needs one of them")
	case c.sas == "" && c.name == "":
		return c, wrong("the connection string", "has an AccountKey but no AccountName; it needs both")
	case c.endpoints == Endpoints{}:
		return c, wrong("the connection string", "has neither AccountName nor endpoints; it needs one of them")
	}
	if _, err := base64.StdEncoding.DecodeString(c.key); err != nil {
		return c, wrong("the AccountKey of the connection string", "is not valid base64; copy the whole key")
	}
	return c, nil
}

// parseSettings returns the settings of a connection string by their names in lower case.
func parseSettings(cs string) (map[string]string, error) {
	cs = strings.TrimSpace(cs)
	switch {
	case cs == "":
		return nil, wrong("the connection string", "is empty; check the environment variable that contains it")
	case strings.Trim(cs, "\"'`“”‘’") != cs:
		return nil, wrong("the connection string", "begins or ends with a quotation mark; remove it")
	}
	settings := map[string]string{}
	for part := range strings.SplitSeq(cs, ";") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		name, value = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)
		_, twice := settings[name]
		switch {
		case !ok || name == "":
			return nil, wrong("the connection string", "has a part without =; the form is NAME=VALUE;NAME=VALUE")
		case twice:
			return nil, wrong("the connection string", "has a setting twice; remove one of them") // no name, since a misplaced ; makes a secret a name
		case strings.Trim(value, "\"'`") != value:
			return nil, wrong("a setting of the connection string", "begins or ends with a quotation mark; remove it")
		}
		settings[name] = value
	}
	return settings, nil
}

// addEndpoints adds the endpoints that the settings do not contain, by the name of the account.
func (c *connection) addEndpoints(settings map[string]string) {
	protocol := cmp.Or(settings["defaultendpointsprotocol"], "https")
	suffix := cmp.Or(strings.TrimPrefix(settings["endpointsuffix"], "."), "core.windows.net")
	for service, at := range map[string]*string{"table": &c.endpoints.Table, "queue": &c.endpoints.Queue, "blob": &c.endpoints.Blob} {
		if *at == "" {
			*at = protocol + "://" + c.name + "." + service + "." + suffix
		}
	}
}

// signatures returns the names of an endpoint with a shared access signature and of one without, ""
// for none.
func (e Endpoints) signatures() (signed, unsigned string) {
	for _, at := range []struct{ name, endpoint string }{{"TableEndpoint", e.Table}, {"QueueEndpoint", e.Queue}, {"BlobEndpoint", e.Blob}} {
		_, query, _ := strings.Cut(at.endpoint, "?")
		values, _ := url.ParseQuery(query)
		switch {
		case at.endpoint == "":
		case values.Has("sig"):
			signed = at.name
		default:
			unsigned = at.name
		}
	}
	return signed, unsigned
}

// open opens the account with its key.
func (c connection) open(o *Options) (*Account, error) {
	tables, err1 := aztables.NewSharedKeyCredential(c.name, c.key)
	queues, err2 := azqueue.NewSharedKeyCredential(c.name, c.key)
	blobs, err3 := service.NewSharedKeyCredential(c.name, c.key)
	if errors.Join(err1, err2, err3) != nil {
		return nil, errors.New("account: the SDK refuses the account key") // the text of the error may contain the key
	}
	a, err := openAll(c.endpoints, o, clients{
		tables: func(u string, o azcore.ClientOptions) (*aztables.ServiceClient, error) {
			return aztables.NewServiceClientWithSharedKey(u, tables, &aztables.ClientOptions{ClientOptions: o})
		},
		queues: func(u string, o azcore.ClientOptions) (*azqueue.ServiceClient, error) {
			return azqueue.NewServiceClientWithSharedKeyCredential(u, queues, &azqueue.ClientOptions{ClientOptions: o})
		},
		blobs: func(u string, o azcore.ClientOptions) (*service.Client, error) {
			return service.NewClientWithSharedKeyCredential(u, blobs, &service.ClientOptions{ClientOptions: o})
		},
	})
	if err != nil {
		return nil, err
	}
	a.key = tables
	return a, nil
}

// FromConnectionString opens the account of a connection string with an account key or a shared
// access signature, which may be in the query of each endpoint. It supports endpoints,
// EndpointSuffix, UseDevelopmentStorage=true (an emulator on its default ports) and
// DevelopmentStorageProxyUri. The error names the invalid setting, but not its value.
func FromConnectionString(cs string, o *Options) (*Account, error) {
	c, err := parseConnection(cs)
	if err != nil {
		return nil, err
	}
	switch {
	case c.sas != "":
		return FromSAS(c.endpoints.withSAS(c.sas), o)
	case c.key == "":
		return FromSAS(c.endpoints, o)
	}
	return c.open(o)
}

// FromEnvironment opens the account that environment variables name. It uses the first of these
// that is set:
//
//   - AZURE_STORAGE_CONNECTION_STRING: as [FromConnectionString]. An emulator is used only if it
//     says so (UseDevelopmentStorage=true).
//   - AZURE_STORAGETABLE_RESOURCEENDPOINT, and likewise STORAGEQUEUE and STORAGEBLOB, as Azure
//     Service Connector sets them: with cred, a token credential such as one of azidentity.
//   - AZURE_STORAGE_ACCOUNT, the name of an account in the public cloud: with cred.
//
// Errors: *table.ValueError if none is set, and if the account needs a credential and cred is nil;
// those of [FromConnectionString] and [FromCredential]. Requests: none.
func FromEnvironment(cred azcore.TokenCredential, o *Options) (*Account, error) {
	if cs := os.Getenv(connectionVariable); cs != "" {
		return FromConnectionString(cs, o)
	}
	source := "AZURE_STORAGETABLE_RESOURCEENDPOINT"
	e := Endpoints{
		Table: os.Getenv("AZURE_STORAGETABLE_RESOURCEENDPOINT"),
		Queue: os.Getenv("AZURE_STORAGEQUEUE_RESOURCEENDPOINT"),
		Blob:  os.Getenv("AZURE_STORAGEBLOB_RESOURCEENDPOINT"),
	}
	if name := os.Getenv("AZURE_STORAGE_ACCOUNT"); e == (Endpoints{}) && name != "" {
		source = "AZURE_STORAGE_ACCOUNT"
		if len(name) < 3 || len(name) > 24 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			return nil, wrong(source, "is not the name of an account, which has 3 to 24 small letters and digits")
		}
		c := connection{name: name}
		c.addEndpoints(nil)
		e = c.endpoints
	}
	switch {
	case e == (Endpoints{}):
		return nil, wrong(connectionVariable, "is not set, nor is AZURE_STORAGETABLE_RESOURCEENDPOINT or AZURE_STORAGE_ACCOUNT; to try a program, run go run ./patterns serve and set what it prints")
	case cred == nil:
		return nil, wrong("cred", "is nil, and "+source+" names an account without its key; give a token credential, such as one of azidentity, or set "+connectionVariable)
	}
	return FromCredential(e, cred, o)
}

const connectionVariable = "AZURE_STORAGE_CONNECTION_STRING"
