package cmlib

import java.util.SplittableRandom
import org.apache.spark.ml.linalg.Vectors
import org.apache.spark.sql.SparkSession

/** Draws ranks 0 until n with probabilities that fall as rank^-exponent. */
final class Zipf(n: Int, exponent: Double) extends Serializable {
  private val cumulative = {
    val weights = Array.tabulate(n)(rank => math.pow(rank + 1.0, -exponent))
    val total = weights.sum
    weights.scanLeft(0.0)(_ + _ / total).tail
  }

  def draw(random: SplittableRandom): Int = {
    val found = java.util.Arrays.binarySearch(cumulative, random.nextDouble())
    math.min(if (found < 0) -found - 1 else found, n - 1)
  }
}

/** Generates an input: KIND FOLDER SIZE SEED. The same arguments give the same rows. */
object Inputs {
  private val parts = 8
  private val countries = Array("DEU", "USA", "CHN", "IND", "BRA", "FRA", "JPN", "NGA", "MEX", "POL")

  def main(arguments: Array[String]): Unit = {
    val Array(kind, folder, size, seed) = arguments
    val spark = SparkSession.builder.getOrCreate()
    val n = size.toInt
    kind match {
      case "lines" => save(spark, folder, n, seed.toLong) { val words = vocabulary(1000); (_, random) => line(words, random) }
      case "links" => save(spark, folder, n, seed.toLong) { val pages = new Zipf(n, 0.8); (page, random) => links(page, pages, random) }
      case "visits" => save(spark, folder, n, seed.toLong) { val urls = new Zipf(math.max(n / 30, 10), 0.9); (_, random) => visit(urls, random) }
      case "rankings" => save(spark, folder, n, seed.toLong) { (page, random) => s"url$page,${random.nextInt(10000)},${random.nextInt(600)}" }
      case "documents" => save(spark, folder, n, seed.toLong) { val words = new Zipf(20000, 1.0); (_, random) => document(words, random) }
      case "points" => points(spark, folder, n, seed.toLong)
      case "ratings" => save(spark, folder, n, seed.toLong) { val users = new Zipf(20000, 0.6); val items = new Zipf(5000, 0.9); (_, random) => rating(users, items, random) }
    }
    spark.stop()
  }

  private def save(spark: SparkSession, folder: String, n: Int, seed: Long)(row: (Int, SplittableRandom) => String): Unit =
    generated(spark, n, seed)(row).saveAsTextFile(folder)

  private def generated[T: scala.reflect.ClassTag](spark: SparkSession, n: Int, seed: Long)(row: (Int, SplittableRandom) => T) =
    spark.sparkContext.parallelize(0 until parts, parts).flatMap { part =>
      val random = new SplittableRandom(seed * 1000003 + part)
      (part until n by parts).iterator.map(row(_, random))
    }

  private def vocabulary(n: Int): Array[String] = {
    val random = new SplittableRandom(1)
    Array.fill(n)(String.valueOf(Array.fill(4 + random.nextInt(8))(('a' + random.nextInt(26)).toChar)))
  }

  private def line(words: Array[String], random: SplittableRandom): String =
    Iterator.fill(5 + random.nextInt(6))(words(random.nextInt(words.length))).mkString(" ")

  /** Eight out-links on average, to pages by Zipf's law; ranks are spread over the page numbers. */
  private def links(page: Int, pages: Zipf, random: SplittableRandom): String =
    Iterator.fill(1 + random.nextInt(15))(pages.draw(random)).mkString(s"$page ", " ", "")

  private def visit(urls: Zipf, random: SplittableRandom): String = {
    val address = s"${random.nextInt(1, 224)}.${random.nextInt(256)}.${random.nextInt(32)}.1"
    val date = java.time.LocalDate.ofEpochDay(9000 + random.nextInt(3650))
    s"$address,url${urls.draw(random)},$date,${random.nextInt(100000) / 100.0},Mozilla/5.${random.nextInt(20)}," +
      s"${countries(random.nextInt(countries.length))},word${random.nextInt(5000)},${random.nextInt(1, 600)}"
  }

  /** Twenty classes that overlap: three words in four follow one law for all, one in four a law shifted by the class. */
  private def document(words: Zipf, random: SplittableRandom): String = {
    val label = random.nextInt(20)
    def word(): String = {
      val rank = words.draw(random)
      s"w${if (random.nextInt(20) == 0) (rank + 977 * label) % 20000 else rank}"
    }
    s"$label\t${Iterator.fill(30 + random.nextInt(40))(word()).mkString(" ")}"
  }

  /** Ten Gaussian clouds in 20 dimensions: centres with deviation 2, points about them with deviation 1. */
  private def points(spark: SparkSession, folder: String, n: Int, seed: Long): Unit = {
    import spark.implicits._
    val centres = { val random = new java.util.Random(seed); Array.fill(10, 20)(2 * random.nextGaussian()) }
    generated(spark, n, seed) { (_, random) =>
      val gaussian = new java.util.Random(random.nextLong())
      Tuple1(Vectors.dense(centres(random.nextInt(10)).map(_ + gaussian.nextGaussian())))
    }.toDF("features").write.parquet(folder)
  }

  /** Stars from 1 to 5 that follow two hidden traits of user and item, and noise. */
  private def rating(users: Zipf, items: Zipf, random: SplittableRandom): String = {
    val (user, item) = (users.draw(random), items.draw(random))
    def trait_(of: Int, which: Int): Double = new SplittableRandom(of * 31L + which).nextDouble() - 0.5
    val match_ = trait_(user, 1) * trait_(-item - 1, 1) + trait_(user, 2) * trait_(-item - 1, 2)
    val stars = 3 + 6 * match_ + random.nextDouble() - 0.5
    s"$user,$item,${math.round(math.max(1, math.min(5, stars)) * 2) / 2.0}"
  }
}
