package recipe

import (
	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/requests"
)

// Service is the storage account on which a recipe runs. It counts and records its requests.
type Service struct {
	Name       string
	Connection string
	Emulated   bool // it accepts requests without encryption
	Account    *account.Account

	counter  requests.Counter
	recorder recorder
	policies []policy.Policy // that an emulator needs
}

// Connect returns the service of a connection string.
func Connect(name, connection string, emulated bool, policies ...policy.Policy) (*Service, error) {
	s := &Service{Name: name, Connection: connection, Emulated: emulated, policies: policies}
	var err error
	s.Account, err = s.open()
	return s, err
}

// open returns the account, for a program with further policies.
func (s *Service) open(more ...policy.Policy) (*account.Account, error) {
	o := account.Options{Counter: &s.counter, Client: azcore.ClientOptions{
		PerCallPolicies:  append(more, s.policies...),
		PerRetryPolicies: []policy.Policy{&s.recorder},
	}}
	return account.FromConnectionString(s.Connection, &o)
}
