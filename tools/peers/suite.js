// What the public clients of the JavaScript SDK do with a service: each case prints a line of JSON with its name, and the error if it
// fails. CONNECTION is the connection string of the account.
const assert = require("node:assert/strict");
const { TableClient, TableServiceClient, TableTransaction, AzureNamedKeyCredential, generateTableSas, odata } = require("@azure/data-tables");
const { QueueServiceClient, StorageSharedKeyCredential: QueueCredential, generateQueueSASQueryParameters, QueueSASPermissions, QueueClient } = require("@azure/storage-queue");
const { BlobServiceClient, ContainerClient, StorageSharedKeyCredential, generateBlobSASQueryParameters, ContainerSASPermissions, BlobSASPermissions, BlockBlobClient } = require("@azure/storage-blob");

const connection = process.env.CONNECTION;
const part = (name) => connection.split(";").find((p) => p.startsWith(name + "=")).slice(name.length + 1);
const account = part("AccountName"), key = part("AccountKey");
const insecure = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } };
let last = 0;
const fresh = () => "peer" + Date.now().toString(36) + (last++).toString(36);
const refuses = async (promise, status, code) => {
  try { await promise; } catch (e) {
    const got = e.code ?? e.details?.errorCode ?? e.details?.odataError?.code;
    assert.equal(e.statusCode, status, `status: ${e.message}`);
    if (code) assert.ok([got, e.details?.errorCode, e.details?.odataError?.code, e.details?.code].includes(code), `code: ${got} ${JSON.stringify(e.details)}; want ${code}`);
    return e;
  }
  assert.fail(`want ${status} ${code}`);
};
const all = async (pages) => { const out = []; for await (const x of pages) out.push(x); return out; };

async function table() {
  const c = TableClient.fromConnectionString(connection, fresh(), insecure);
  await c.createTable();
  return c;
}
async function queue() {
  const c = QueueServiceClient.fromConnectionString(connection).getQueueClient(fresh());
  await c.create({ metadata: { unit: "a" } });
  return c;
}
async function container() {
  const c = BlobServiceClient.fromConnectionString(connection).getContainerClient(fresh());
  await c.create();
  return c;
}

const cases = {
  "tables: create, list, delete": async () => {
    const s = TableServiceClient.fromConnectionString(connection, insecure), name = fresh();
    await s.createTable(name);
    await s.createTable(name); // the client takes an existing table for created
    const listed = await all(s.listTables({ queryOptions: { filter: odata`TableName eq ${name}` } }));
    assert.deepEqual(listed.map((t) => t.name), [name]);
    await s.deleteTable(name);
    await s.deleteTable(name);
  },
  "tables: properties of the service": async () => {
    const s = TableServiceClient.fromConnectionString(connection, insecure);
    const before = await s.getProperties();
    await s.setProperties({ ...before, cors: [{ allowedOrigins: "https://a.test", allowedMethods: "GET", allowedHeaders: "x-ms-*", exposedHeaders: "x-ms-*", maxAgeInSeconds: 5 }] });
    const now = await s.getProperties();
    assert.equal(now.cors.length, 1);
    assert.equal(now.cors[0].allowedOrigins, "https://a.test");
    await s.setProperties({ cors: [] });
  },
  "tables: access policies": async () => {
    const c = await table();
    await c.setAccessPolicy([{ id: "a", accessPolicy: { expiry: new Date("2040-01-01"), start: new Date("2020-01-01"), permission: "r" } }]);
    const got = await c.getAccessPolicy();
    assert.deepEqual(got.map((i) => [i.id, i.accessPolicy.permission]), [["a", "r"]]);
  },
  "tables: all types": async () => {
    const c = await table();
    await c.createEntity({ partitionKey: "p", rowKey: "r", s: "é'\"", i: 5, l: 9007199254740993n, d: { type: "Double", value: "3" }, b: true, t: new Date("2026-11-21T01:02:03.123Z"), g: { type: "Guid", value: "c9da6455-213d-42c9-9a79-3e9149a57833" }, x: new Uint8Array([0, 255]) });
    const e = await c.getEntity("p", "r");
    assert.equal(e.s, "é'\"");
    assert.equal(e.i, 5);
    assert.equal(e.l, 9007199254740993n);
    assert.equal(e.b, true);
    assert.equal(e.t.toISOString(), "2026-11-21T01:02:03.123Z");
    assert.equal(e.g.value, "c9da6455-213d-42c9-9a79-3e9149a57833");
    assert.deepEqual([...e.x], [0, 255]);
    assert.ok(e.etag && e.timestamp);
  },
  "tables: keys with quotes": async () => {
    const c = await table();
    await c.createEntity({ partitionKey: "O'Brien", rowKey: "a 'b' %27", n: 1 });
    assert.equal((await c.getEntity("O'Brien", "a 'b' %27")).n, 1);
    assert.equal((await all(c.listEntities({ queryOptions: { filter: odata`PartitionKey eq ${"O'Brien"}` } }))).length, 1);
    await c.deleteEntity("O'Brien", "a 'b' %27");
    await refuses(c.getEntity("O'Brien", "a 'b' %27"), 404, "ResourceNotFound");
  },
  "tables: conditions": async () => {
    const c = await table();
    await c.createEntity({ partitionKey: "p", rowKey: "r", n: 1 });
    await refuses(c.createEntity({ partitionKey: "p", rowKey: "r" }), 409, "EntityAlreadyExists");
    const e = await c.getEntity("p", "r");
    await c.updateEntity({ partitionKey: "p", rowKey: "r", n: 2 }, "Replace", { etag: e.etag });
    await refuses(c.updateEntity({ partitionKey: "p", rowKey: "r", n: 3 }, "Merge", { etag: e.etag }), 412, "UpdateConditionNotSatisfied");
    await c.upsertEntity({ partitionKey: "p", rowKey: "r", m: 1 }, "Merge");
    assert.deepEqual([(await c.getEntity("p", "r")).n, (await c.getEntity("p", "r")).m], [2, 1]);
    await c.upsertEntity({ partitionKey: "p", rowKey: "r", m: 1 }, "Replace");
    assert.equal((await c.getEntity("p", "r")).n, undefined);
  },
  "tables: pages, filters and selections": async () => {
    const c = await table();
    for (let i = 0; i < 7; i++) await c.createEntity({ partitionKey: "p" + (i % 2), rowKey: String(i), n: i, l: BigInt(i) });
    const pages = [];
    for await (const page of c.listEntities().byPage({ maxPageSize: 3 })) pages.push(page.length);
    assert.deepEqual(pages, [3, 3, 1]);
    const some = await all(c.listEntities({ queryOptions: { filter: "n ge 2 and l lt 5L", select: ["rowKey", "n"] } }));
    assert.deepEqual(some.map((e) => e.n).sort(), [2, 3, 4]);
    assert.equal(some[0].l, undefined);
  },
  "tables: transactions": async () => {
    const c = await table(), t = new TableTransaction();
    for (let i = 0; i < 100; i++) t.createEntity({ partitionKey: "p", rowKey: String(i), n: i });
    assert.equal((await c.submitTransaction(t.actions)).subResponses.length, 100);
    const failing = new TableTransaction();
    failing.createEntity({ partitionKey: "p", rowKey: "new" });
    failing.createEntity({ partitionKey: "p", rowKey: "5" });
    await refuses(c.submitTransaction(failing.actions), 409, "EntityAlreadyExists");
    await refuses(c.getEntity("p", "new"), 404, "ResourceNotFound");
    const other = new TableTransaction();
    other.deleteEntity("p", "1");
    other.updateEntity({ partitionKey: "p", rowKey: "2", m: 1 }, "Merge");
    other.upsertEntity({ partitionKey: "p", rowKey: "more" }, "Replace");
    assert.deepEqual((await c.submitTransaction(other.actions)).subResponses.map((r) => r.status), [204, 204, 204]);
  },
  "tables: signatures": async () => {
    const c = await table();
    await c.createEntity({ partitionKey: "p", rowKey: "r" });
    const credential = new AzureNamedKeyCredential(account, key);
    const sas = generateTableSas(c.tableName, credential, { expiresOn: new Date(Date.now() + 3600e3), permissions: { query: true }, protocol: undefined });
    const s = new TableClient(`${part("TableEndpoint")}?${sas}`, c.tableName, insecure);
    assert.equal((await s.getEntity("p", "r")).rowKey, "r");
    await refuses(s.createEntity({ partitionKey: "p", rowKey: "s" }), 403, "AuthorizationPermissionMismatch");
  },
  "queues: create, list, delete, metadata": async () => {
    const c = await queue(), s = QueueServiceClient.fromConnectionString(connection);
    await c.setMetadata({ unit: "b", colour: "red" });
    const p = await c.getProperties();
    assert.deepEqual(p.metadata, { unit: "b", colour: "red" });
    assert.equal(p.approximateMessagesCount, 0);
    const listed = await all(s.listQueues({ prefix: c.name, includeMetadata: true }));
    assert.deepEqual(listed.map((q) => [q.name, q.metadata.colour]), [[c.name, "red"]]);
    assert.equal((await c.createIfNotExists({ metadata: { unit: "b", colour: "red" } })).succeeded, false);
    await c.delete();
    assert.equal(await c.exists(), false);
  },
  "queues: messages": async () => {
    const c = await queue();
    const sent = await c.sendMessage("text <&> é", { messageTimeToLive: 60 });
    assert.equal((await c.peekMessages()).peekedMessageItems[0].messageText, "text <&> é");
    const [m] = (await c.receiveMessages({ visibilityTimeout: 30 })).receivedMessageItems;
    assert.equal(m.messageId, sent.messageId);
    assert.equal(m.dequeueCount, 1);
    assert.equal((await c.receiveMessages()).receivedMessageItems.length, 0);
    const updated = await c.updateMessage(m.messageId, m.popReceipt, "other", 0);
    const [again] = (await c.receiveMessages()).receivedMessageItems;
    assert.equal(again.messageText, "other");
    await refuses(c.deleteMessage(m.messageId, m.popReceipt), 404, "MessageNotFound").catch((e) => refuses(c.deleteMessage(m.messageId, m.popReceipt), 400, "PopReceiptMismatch"));
    assert.ok(updated.popReceipt);
    await c.deleteMessage(again.messageId, again.popReceipt);
    await c.sendMessage("a");
    await c.clearMessages();
    assert.equal((await c.peekMessages()).peekedMessageItems.length, 0);
  },
  "queues: access policies and signatures": async () => {
    const c = await queue();
    await c.setAccessPolicy([{ id: "a", accessPolicy: { expiresOn: new Date("2040-01-01"), startsOn: new Date("2020-01-01"), permissions: "a" } }]);
    assert.deepEqual((await c.getAccessPolicy()).signedIdentifiers.map((i) => i.id), ["a"]);
    const credential = new QueueCredential(account, key);
    for (const values of [{ expiresOn: new Date(Date.now() + 3600e3), permissions: QueueSASPermissions.parse("a") }, { identifier: "a" }]) {
      const s = new QueueClient(`${c.url}?${generateQueueSASQueryParameters({ queueName: c.name, ...values }, credential)}`);
      await s.sendMessage("text");
      await refuses(s.receiveMessages(), 403, "AuthorizationPermissionMismatch");
    }
  },
  "blobs: block blobs": async () => {
    const c = await container(), b = c.getBlockBlobClient("a/b é.txt");
    await b.upload("hello", 5, { blobHTTPHeaders: { blobContentType: "text/plain" }, metadata: { unit: "a" } });
    const p = await b.getProperties();
    assert.deepEqual([p.contentLength, p.contentType, p.metadata, p.blobType], [5, "text/plain", { unit: "a" }, "BlockBlob"]);
    assert.equal((await b.downloadToBuffer(1, 3)).toString(), "ell");
    const id = (n) => Buffer.from(String(n).padStart(4, "0")).toString("base64");
    await b.stageBlock(id(1), "one", 3);
    await b.stageBlock(id(2), "two", 3);
    assert.equal((await b.getBlockList("all")).uncommittedBlocks.length, 2);
    await b.commitBlockList([id(2), id(1)]);
    assert.equal((await b.downloadToBuffer()).toString(), "twoone");
    await refuses(b.upload("x", 1, { conditions: { ifNoneMatch: "*" } }), 409, "BlobAlreadyExists");
    await b.delete();
    assert.equal(await b.exists(), false);
  },
  "blobs: append blobs": async () => {
    const b = (await container()).getAppendBlobClient("log");
    await b.create();
    await b.appendBlock("one", 3, { conditions: { appendPosition: 0 } });
    await refuses(b.appendBlock("two", 3, { conditions: { appendPosition: 0 } }), 412, "AppendPositionConditionNotMet");
    const r = await b.appendBlock("two", 3);
    assert.deepEqual([r.blobAppendOffset, r.blobCommittedBlockCount], ["3", 2]);
    assert.equal((await b.downloadToBuffer()).toString(), "onetwo");
  },
  "blobs: lists": async () => {
    const c = await container();
    for (const name of ["a/1", "a/2", "b", "c"]) await c.getBlockBlobClient(name).upload(name, name.length);
    const pages = [];
    for await (const page of c.listBlobsFlat().byPage({ maxPageSize: 3 })) pages.push(page.segment.blobItems.map((b) => b.name));
    assert.deepEqual(pages, [["a/1", "a/2", "b"], ["c"]]);
    const below = await all(c.listBlobsByHierarchy("/"));
    assert.deepEqual(below.map((x) => x.kind + " " + x.name).sort(), ["blob b", "blob c", "prefix a/"]);
  },
  "blobs: leases": async () => {
    const c = await container(), b = c.getBlockBlobClient("x");
    await b.upload("a", 1);
    const lease = b.getBlobLeaseClient();
    await lease.acquireLease(15);
    await refuses(b.upload("b", 1), 412, "LeaseIdMissing");
    await b.upload("b", 1, { conditions: { leaseId: lease.leaseId } });
    await lease.releaseLease();
    await b.delete();
  },
  "blobs: signatures and access policies": async () => {
    const c = await container(), b = c.getBlockBlobClient("x");
    await b.upload("a", 1);
    const credential = new StorageSharedKeyCredential(account, key), expiresOn = new Date(Date.now() + 3600e3);
    const reader = new BlockBlobClient(`${b.url}?${generateBlobSASQueryParameters({ containerName: c.containerName, blobName: "x", permissions: BlobSASPermissions.parse("r"), expiresOn, contentType: "text/x-sas" }, credential)}`);
    assert.equal((await reader.getProperties()).contentType, "text/x-sas");
    await refuses(reader.upload("b", 1), 403, "AuthorizationPermissionMismatch");
    await c.setAccessPolicy(undefined, [{ id: "a", accessPolicy: { expiresOn: new Date("2040-01-01"), startsOn: new Date("2020-01-01"), permissions: "l" } }]);
    assert.deepEqual((await c.getAccessPolicy()).signedIdentifiers.map((i) => i.id), ["a"]);
    const lister = new ContainerClient(`${c.url}?${generateBlobSASQueryParameters({ containerName: c.containerName, identifier: "a" }, credential)}`);
    assert.equal((await all(lister.listBlobsFlat())).length, 1);
  },
};

(async () => {
  for (const [name, run] of Object.entries(cases)) {
    let error = "";
    try { await run(); } catch (e) { error = String(e.stack ?? e).slice(0, 1500); }
    console.log(JSON.stringify({ name, error }));
  }
})();
