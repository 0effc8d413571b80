import com.sun.net.httpserver.HttpServer;
import java.io.BufferedReader;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Executors;
import org.apache.lucene.analysis.core.WhitespaceAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.StoredField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.store.MMapDirectory;

/** index FOLDER DOCUMENTS: builds an index of the lines of text files. serve FOLDER PORT: answers /search?q=w1+w2. */
public class SearchServer {
    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("index")) index(Path.of(arguments[1]), Path.of(arguments[2]));
        else serve(Path.of(arguments[1]), Integer.parseInt(arguments[2]));
    }

    private static void index(Path folder, Path documents) throws Exception {
        try (var writer = new IndexWriter(new MMapDirectory(folder), new IndexWriterConfig(new WhitespaceAnalyzer()));
                DirectoryStream<Path> files = Files.newDirectoryStream(documents, "part-*")) {
            for (Path file : files) {
                try (BufferedReader lines = Files.newBufferedReader(file)) {
                    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                        String text = line.substring(line.indexOf('\t') + 1);
                        var document = new Document();
                        document.add(new TextField("text", text, Field.Store.NO));
                        document.add(new StoredField("title", text.substring(0, Math.min(60, text.length()))));
                        writer.addDocument(document);
                    }
                }
            }
            writer.forceMerge(1);
        }
    }

    private static void serve(Path folder, int port) throws Exception {
        var searcher = new IndexSearcher(DirectoryReader.open(new MMapDirectory(folder)));
        var server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
        server.setExecutor(Executors.newFixedThreadPool(2));
        server.createContext("/search", exchange -> {
            String words = URLDecoder.decode(exchange.getRequestURI().getRawQuery().substring(2), StandardCharsets.UTF_8);
            byte[] answer = search(searcher, words).getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, answer.length);
            try (var body = exchange.getResponseBody()) {
                body.write(answer);
            }
        });
        server.start();
    }

    private static String search(IndexSearcher searcher, String words) throws java.io.IOException {
        var query = new BooleanQuery.Builder();
        for (String word : words.split(" ")) query.add(new TermQuery(new Term("text", word)), BooleanClause.Occur.SHOULD);
        var found = searcher.search(query.build(), 10);
        var answer = new StringBuilder(found.totalHits + "\n");
        for (ScoreDoc hit : found.scoreDocs) {
            answer.append(hit.doc).append(' ').append(hit.score).append(' ');
            answer.append(searcher.doc(hit.doc).get("title")).append('\n');
        }
        return answer.toString();
    }
}
