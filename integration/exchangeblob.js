// The JavaScript side of the exchange of blobs: appends to blobs of a container, or reads them and prints what they contain.
const { BlobServiceClient } = require("@azure/storage-blob");

const container = BlobServiceClient.fromConnectionString(process.env.CONNECTION).getContainerClient(process.env.TABLE);

async function write() {
  for (const [name, blocks] of Object.entries(JSON.parse(process.env.BLOBS))) {
    const blob = container.getAppendBlobClient(name);
    await blob.create({ metadata: { language: "js" }, blobHTTPHeaders: { blobContentType: "text/plain" } });
    let position = 0;
    for (const block of blocks) {
      const length = Buffer.byteLength(block);
      await blob.appendBlock(block, length, { conditions: { appendPosition: position } });
      position += length;
    }
    const lease = blob.getBlobLeaseClient();
    await lease.acquireLease(15);
    try {
      await blob.appendBlock("x", 1);
      throw new Error("a leased blob accepts an append without the lease ID");
    } catch (e) {
      if (e.code !== "LeaseIdMissing") throw e;
    }
    await lease.releaseLease();
  }
}

async function read() {
  const blobs = {};
  for await (const page of container.listBlobsFlat({ includeMetadata: true }).byPage({ maxPageSize: 2 })) {
    for (const item of page.segment.blobItems) {
      const blob = container.getAppendBlobClient(item.name);
      const { contentLength, blobCommittedBlockCount } = await blob.getProperties();
      const text = (await blob.downloadToBuffer()).toString();
      const part = contentLength > 1 ? (await blob.downloadToBuffer(1, contentLength - 1)).toString("base64") : "";
      blobs[item.name] = { text, part, blocks: blobCommittedBlockCount, metadata: item.metadata, type: item.properties.contentType };
    }
  }
  const prefixes = [];
  for await (const item of container.listBlobsByHierarchy("/")) if (item.kind === "prefix") prefixes.push(item.name);
  console.log(JSON.stringify({ blobs, prefixes }));
}

({ write, read })[process.env.STEP]().catch((e) => { console.error(e); process.exit(1); });
