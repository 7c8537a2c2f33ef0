"""Common first names, which tell a person from a product where a key says `name` alone.

Folded (`spelling.fold`), of the languages whose labels the rules know. What is as often a place,
a brand or a word of the trade (Austin, Jordan, Mercedes, Victoria) is left out.
"""

GIVEN_NAMES = frozenset(
    """
    aaron abel abigail abril ada adam adela adele adelheid ademar ademir aditi aditya adolfo
    adrian adriana adriano agata agathe agnes agostina agustin agustina ahmed aida aidan aidee
    aiden ainhoa aisha aitor alan alba alberto aldo alejandra alejandro alessandra alessandro
    alessia alessio alex alexander alexandra alexandre alexis alfonso alfred alfredo ali alice
    alicia aline alison allan alma almudena alonso alvaro alyssa amadeo amaia amalia amanda
    amandine amelia amelie amina amira amit amparo amy ana anabel anais anastasia anderson
    andrea andreas andreia andres andrew angel angela angeles angelica angelina angelo angie
    anibal anika anita anja ann anna anne anneliese annette annie anselmo anthony antoine anton
    antonella antonia antonieta antonio araceli ariadna ariana ariel arjun armando arnaud arthur
    artur arturo ashley astrid asuncion audrey augusto aurelie aurelien aurelio ayse azucena
    barbara barry bartolome bastian bastien beatrice beatrix beatriz begona belen ben benedetta
    benedikt benicio benito benjamin benoit berenice bernard bernardo bernd bernhard berta
    bertha bertrand beth bettina betty bianca bill billy birgit blanca bob bonnie boris brad
    bradley brandon braulio brenda breno brian brigida brigitte britta bruna bruno bryan byron
    caetano caio camila camilla camille camilo candela candice carina carl carla carles carlo
    carlos carlota carmela carmen carol carole caroline carrie carsten catalina catarina
    caterina catherine cathy cecile cecilia celia celina celine celso cesar charles charlie
    charlotte chiara chloe chris christa christel christelle christian christiane christina
    christine christof christoph christophe christopher cindy cintia ciro claire clara claudette
    claudia claudio clemence clemens clement clemente clotilde coline conceicao concepcion
    concetta connie conrad constance constantin consuelo corinna corinne cornelia cosimo craig
    cristian cristiana cristiano cristina cristobal cristovao curtis cynthia cyril dafne daisy
    dalila damian damiano damien dan dana daniel daniela daniele danielle danilo danny dario
    darius darlene darren dave davi david davide deborah debra deepak delfina delia delphine
    denis denise dennis derek desiree diana diane diego dieter dilip dimitri dina diogo dirk
    dolores domenico domingo dominic dominik dominique donald donato donna dora doris dorothea
    dorothee dorothy doug douglas duarte dustin dylan eberhard edgar edgardo edith edmundo
    edoardo edson eduarda eduardo edward edwin efrain egon eileen elaine eleanor elena eleonora
    elfriede eliana elias elif eliot elisa elisabeth elisabetta elise elizabeth elke ella ellen
    eloise elsa elvira emanuel emanuela emanuele emerson emil emile emilia emiliano emilie
    emilio emily emma emmanuel enrica enrico enrique enzo erhard eric erica erich erick erik
    erika ernest ernesto erwin esmeralda esperanza esteban estefania estela estelle ester esther
    etienne eugen eugenia eugenio eunice eusebio eva evan evandro evelin evelyn ezequiel fabian
    fabiana fabiano fabien fabienne fabio fabiola fabrice fabricio fabrizio facundo fanny fatima
    fausto federica federico felicia felicitas felipe felix ferdinand ferdinando fermin fernanda
    fernando fidel filipa filipe filippo fiona fiorella flavia flavio florencia florian
    francesca francesco francis francisca francisco franck franco francois francoise frank franz
    franziska fred frederic frederico frederik friederike friedrich fritz gabriel gabriela
    gabriele gabriella gael gaelle gaetano gareth garrett gary gaspar gaston gemma genaro
    genevieve geoffrey georg george georges georgina gerald geraldine geraldo gerard gerardo
    gerd gerhard gertrud gianluca gianna gilbert gilberto gilles gina ginevra gino giorgia
    giorgio giovanna giovanni gisela gisele giulia giuliana giuliano giulio giuseppe giuseppina
    gladys gloria goncalo gonzalo graciela graham graziella greg gregoire gregor gregorio
    gregory greta griselda guadalupe gudrun guido guilherme guillaume guillermina guillermo
    gunter gunther gustavo guy hanna hannah hannelore hans harald haroldo harry hassan heather
    hector hedwig heidi heike heinrich heinz helen helena helene helga helmut hendrik henri
    henrik henrike henrique henry herbert heriberto hermann hernan hilda hildegard holger
    horacio horst howard hubert hugo humberto ian ibrahim ida ignacio igor ilaria ilse iman
    imanol imma ines inga inge ingeborg ingo ingrid inmaculada ioana irene irina irma irmgard
    isaac isabel isabela isabella isabelle isadora isidora isidro ismael itziar ivan ivana ivo
    ivonne jacinta jacinto jack jacob jacopo jacqueline jacques jaime jaimie jake jakob james
    jamie jan jana jane janet janete janice janine jannik jaqueline javier jean jeanette jeanne
    jeff jeffrey jenna jennifer jenny jens jeremias jeremy jerome jerry jesse jessica jesus jill
    jim jimena jimmy joachim joan joana joann joanna joanne joao joaquim joaquin jochen joe joel
    joelle joerg johan johann johanna johannes john johnny jonas jonatan jonathan jordi jorg
    jorge jose josef josefa josefina joseph josephine joshua josue joyce juan juana juanita
    judith judy jules julia julian juliana juliane juliano julie julien juliette julio julius
    jurgen jussara justin justine justyna kai kaitlyn karen karim karin karina karl karla
    karoline kate katharina katherine kathleen kathrin kathryn kathy katia katie katja katrin
    kayla keith kelly ken kenneth kerstin kevin khalid kim kirsten klara klaudia klaus konrad
    konstantin kristen kristin kristina kristof krzysztof kunal kurt kyle laetitia laia lara
    larissa larry lars laszlo laura laure lauren laurence laurent laurie lautaro lavinia lea
    leandra leandro leila lena leni leo leocadia leon leonardo leonie leonor leopoldo leslie
    leticia lidia liesel lilian liliana lina linda lionel lisa liselotte livia lorena lorenz
    lorenza lorenzo loretta lothar lou louis louise lourdes luana luc luca lucas lucia luciana
    luciano lucie lucien lucila lucinda lucio lucrecia lucy ludovic ludovica ludwig luis luisa
    luise luiz luiza lukas luke luz lydia lynn macarena maelle magali magda magdalena maite maja
    malik malte manfred manoel manon manuel manuela mara marc marcel marcela marcelle marcello
    marcelo marcia marcio marco marcos marcus margaret margarete margarida margarita margherita
    margit margot marguerite maria mariana mariangela marianne mariano maribel maricarmen marie
    mariela marilena marilia marilyn marina mario marion marisa marisol marissa marlene marta
    martha martin martina martine marvin mary massimo mateo mateus matheus mathias mathieu
    mathilde matias matilda matilde matt matteo matthew matthias matthieu maud maura maureen
    maurice mauricio maurizio mauro max maxence maxime maximilian maximiliano megan mehdi mehmet
    meike melanie melina melissa meredith merle mia micaela michael michaela michal michel
    michela michele micheline michelle miguel mikael mike milagros milena milton mina miranda
    mireia mireille miriam mirko mirta mischa mohamed mohammad mohammed moises monica monika
    monique monserrat montserrat moritz moses muhammad muriel mustafa myriam nadia nadine nadja
    nahuel nancy naomi nara natalia natalie natasha nathalie nathan nazareno neil nelson nerea
    nestor neus nicholas nick nico nicola nicolas nicole nicoletta niklas nikolaus nilda nils
    nina nino noah noel noelia noemi nora norbert norma nuno nuria octavio odile ofelia olaf
    oleg olga oliver olivia olivier omar orlando oscar osvaldo oswaldo ottavia otto pablo paloma
    pamela paola paolo pascal pascale patricia patricio patrick patrizia patrycja paul paula
    paulina pauline paulo pawel pedro peggy peter petra phil philip philipp philippe phillip
    phyllis pia piedad piero pierre pietro pilar piotr pooja poonam priscila priscilla priya
    quentin rachel rafael rafaela raffaella rahul raimundo rainer ralf ralph ramiro ramon ramona
    randy raphael raquel rashid raul ravi raymond rebeca rebecca regina reginaldo regine
    reinaldo reiner reinhard remedios remi renata renate renato rene renee reynaldo ricardo
    riccardo richard rick rita robert roberta roberto robin robson rocio roderick rodolfo
    rodrigo roger rogerio rohan roland rolando rolf romain roman romina romuald ron ronald
    ronaldo rosa rosalia rosana rosanna rosario rosemarie rosemary rosina roxana ruben rubens
    rudi rudolf rui rupert russell ruth ryan sabina sabine sabrina salma salvador salvatore sam
    samantha samir samira samuel samuele sandra sandrine sandro sanjay santino sara sarah sascha
    saskia saul scott sean sebastian sebastiao sebastien serge sergei sergio severine shannon
    sharon shawn sheila shirley sibylle siegfried sigrid silke silvana silvia silvio simon
    simona simone simoni sina socorro sofia solange soledad sonia sonja sophia sophie soraya
    stacy stefan stefania stefanie stefano stephan stephane stephanie stephen steve steven
    stuart suellen sunil susan susana susanna susanne suzana suzanne sven svenja sylvain sylvia
    sylvie tabea tais tamara tania tanja tanya tara tarek tatiana telma teodoro teresa thais
    thales thea theo theodor theresa therese thiago thibault thierry thomas thorsten tiago
    tiffany tim timo timothy tina tito tobias todd tom tomas tomasz tommaso tony torsten tracy
    trevor trinidad tristan tyler udo ulrich ulrike ulysse umberto ursula uta uwe valentin
    valentina valentine valeria valerie valerio vanesa vanessa vera verena veronica veronika
    veronique vicenta vicente victor vikram viktor vilma vincent vincenzo violeta virginie vitor
    vittoria vittorio viviana viviane vivien volker wagner walter waltraud wanda wendy werner
    wesley wilfried wilhelm william wilma wilson winfried wolfgang xavier xenia ximena yago
    yanina yann yannick yasmin yasmine yolanda yusuf yvette yvonne zacarias zoe zulema
    """.split()  # noqa: SIM905 - a list would be three times as long
)
